// SPDX-License-Identifier: MIT
//
// In the place of benchmark_served.cpp where libcurl was not found (cmake/servers.cmake).
#include "cli/commands.h"
#include "cli/eval/benchmark.h"

namespace mrrope::cli {

int run_on_servers(const EvalOptions& /*eval*/, const BenchmarkCommand& /*command*/, const eval::TaskTexts& /*texts*/,
                   const eval::BenchmarkOptions& /*options*/, const std::vector<std::string>& /*words*/) {
  return fail({ErrorCode::unsupported, "this program was built without libcurl", "--endpoint"});
}

}  // namespace mrrope::cli

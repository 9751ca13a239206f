// SPDX-License-Identifier: MIT
//
// Where libcurl was not found (cmake/servers.cmake).
#include "mrrope/benchmarks.h"

namespace mrrope {

namespace {

Error not_built() { return {ErrorCode::unsupported, "this program was built without libcurl", "--endpoint"}; }

}  // namespace

Result<ServedCount> count_on_servers(const ServerOptions& /*servers*/) { return not_built(); }

Result<ServedCost> measure_served(const ServerOptions& /*servers*/, const std::string& /*label*/,
                                  const TaskTexts& /*texts*/, const TokenCount& /*count*/,
                                  const BenchmarkOptions& /*options*/, RunFolder& /*run*/, const Control& /*control*/) {
  return not_built();
}

}  // namespace mrrope

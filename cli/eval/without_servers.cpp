// SPDX-License-Identifier: MIT
//
// In the place of everything that asks servers, where libcurl was not found (cmake/servers.cmake).
#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/eval/ppl.h"

namespace mrrope::cli {

int run_on_servers(const EvalOptions& /*eval*/, const BenchmarkCommand& /*command*/, const eval::TaskTexts& /*texts*/,
                   const eval::BenchmarkOptions& /*options*/, const std::vector<std::string>& /*words*/) {
  return fail({ErrorCode::unsupported, "this program was built without libcurl", "--endpoint"});
}

int run_ppl_on_servers(const PplCommand& /*command*/, const std::vector<std::int64_t>& /*lengths*/,
                       const std::vector<std::string>& /*words*/) {
  return fail({ErrorCode::unsupported, "this program was built without libcurl", "--endpoint"});
}

void add_probe(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("probe",
                                             "what a running server really runs: its length, its table\n"
                                             "\n"
                                             "Not in this mrrope: it was built without libcurl.\n");
  command->allow_extras();
  command->callback([&action] {
    action = [] {
      return fail({ErrorCode::unsupported, "this mrrope was built without libcurl and asks no servers", ""});
    };
  });
}

}  // namespace mrrope::cli

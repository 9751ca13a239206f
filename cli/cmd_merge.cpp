// SPDX-License-Identifier: MIT
//
// mrrope merge: the runs of several machines become one.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "mrrope/merge.h"

namespace mrrope::cli {

namespace {

struct Options {
  std::vector<std::string> runs;
  std::string output;
  bool json = false;
};

int run_merge(const Options& options) {
  const Result<eval::Merged> merged = eval::merge_runs(options.runs, options.output);
  if (!merged) return fail(merged.error());
  if (options.json) {
    print("{}", base::write_json(base::Json{{"schema", "mrrope.merge/1"},
                                            {"records", merged->records},
                                            {"repeated", merged->repeated},
                                            {"contradictions", merged->contradictions},
                                            {"torn", merged->torn}}));
    return 0;
  }
  print("merged    {} records of {} run{} into {}\n", merged->records, options.runs.size(),
        options.runs.size() == 1 ? "" : "s", options.output);
  if (merged->repeated > 0) print("repeated  {} left out, the first of each is kept\n", merged->repeated);
  if (merged->contradictions > 0) {
    print("note      {} of them differ from the one kept: the engine does not answer the same twice\n",
          merged->contradictions);
  }
  for (const std::string& run : merged->torn) {
    print("note      the last line of {} is damaged and was left out; the same eval command measures it again\n", run);
  }
  return 0;
}

}  // namespace

void add_merge(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("merge",
                                             "runs of several machines become one\n"
                                             "\n"
                                             "  mrrope merge run-* -o run\n");
  command->add_option("RUN", options->runs, "folders that mrrope eval wrote (of one model and task)")->required();
  command->add_option("-o,--output", options->output, "a new folder")->type_name("RUN")->required();
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] { action = [options] { return run_merge(*options); }; });
}

}  // namespace mrrope::cli

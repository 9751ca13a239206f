// SPDX-License-Identifier: MIT
//
// mrrope export: a run in the files of other programs.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "mrrope/export.h"

namespace mrrope::cli {

namespace {

struct Options {
  std::string run;
  std::string folder;
  bool json = false;
};

int run_export(const Options& options) {
  const Result<eval::RunFolder> run = eval::RunFolder::read(options.run);
  if (!run) return fail(run.error());
  const Result<std::vector<std::string>> files =
      eval::export_lm_eval(run->info(), run->records(), options.folder, std::chrono::system_clock::now());
  if (!files) return fail(files.error());
  if (options.json) {
    print("{}", base::write_json(base::Json{{"schema", "mrrope.export/1"}, {"files", *files}}));
    return 0;
  }
  for (const std::string& file : *files) print("wrote     {}\n", file);
  return 0;
}

}  // namespace

void add_export(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("export",
                                             "a run in the files of lm-evaluation-harness\n"
                                             "\n"
                                             "  mrrope export run --lm-eval results\n");
  command->add_option("RUN", options->run, "a folder that mrrope eval or merge wrote")->required();
  command->add_option("--lm-eval", options->folder, "where its results_*.json and samples_*.jsonl go")
      ->type_name("DIR")
      ->required();
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] { action = [options] { return run_export(*options); }; });
}

}  // namespace mrrope::cli

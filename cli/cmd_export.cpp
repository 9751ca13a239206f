// SPDX-License-Identifier: MIT
//
// mrrope export: a run in the files of other programs.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/python_part.h"
#include "cli/terminal.h"
#include "mrrope/export.h"

namespace mrrope::cli {

namespace {

struct Options {
  std::string run;
  std::string folder;
  std::string parquet;
  bool json = false;
};

int run_export(const Options& options) {
  if (!options.parquet.empty()) {
    std::vector<std::string> words = {"--parquet=" + options.parquet, "--", options.run};
    if (options.json) words.insert(words.begin(), "--json");
    return become_python("parquet", "mrrope[parquet]", words);
  }
  const Result<std::vector<std::string>> files =
      eval::export_lm_eval(options.run, options.folder, std::chrono::system_clock::now());
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
                                             "a run in the files of other programs\n"
                                             "\n"
                                             "  mrrope export run --lm-eval results\n"
                                             "  mrrope export run --parquet run.parquet\n");
  command->add_option("RUN", options->run, "a folder that mrrope eval or merge wrote")->required();
  CLI::Option* lm_eval = command->add_option("--lm-eval", options->folder,
                                             "where results_*.json and samples_*.jsonl of\nlm-evaluation-harness go");
  CLI::Option* parquet =
      command->add_option("--parquet", options->parquet, "a file for DuckDB, pandas and Spark (docs/parquet.md)");
  lm_eval->type_name("DIR")->excludes(parquet);
  parquet->type_name("FILE");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] {
    if (options->folder.empty() && options->parquet.empty()) throw CLI::RequiredError("--lm-eval or --parquet");
    action = [options] { return run_export(*options); };
  });
}

}  // namespace mrrope::cli

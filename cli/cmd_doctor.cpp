// SPDX-License-Identifier: MIT
//
// mrrope doctor: coded findings about a file, and what each engine will really do with it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/doctor_report.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string target;
  std::string explain;
  std::string fail_on = "error";
  bool json = false;
  bool list = false;
};

// A file that cannot be read does not keep the others from being examined. The worst status counts, and a file that
// was not examined is worse than one with findings.
int run_files(const Options& options) {
  const bool several = options.files.size() > 1;
  base::Json all = base::Json::array();
  int failed = 0;
  bool found_something = false;
  bool first = true;
  for (const std::string& file : options.files) {
    const Result<ModelFile> model = read_model(file);
    const Result<Examination> found = model ? examine(*model, options.target) : model.error();
    if (!found) {
      failed = std::max(failed, fail(found.error()));
      continue;
    }
    found_something = found_something || reaches(found->findings, options.fail_on);
    if (options.json) {
      all.push_back(examination_json(*model, *found));
      continue;
    }
    if (several) print("{}{}\n", first ? "" : "\n", bold(file));
    print_examination(*model, *found, !options.target.empty());
    first = false;
  }
  if (options.json && several) print("{}", base::write_json(all));
  else if (options.json && !all.empty()) print("{}", base::write_json(all.front()));
  return failed != 0 ? failed : found_something ? 3 : 0;
}

int run_doctor(const Options& options) {
  if (options.list) {
    print_codes();
    return 0;
  }
  if (!options.explain.empty()) {
    const Result<void> explained = explain_code(options.explain);
    return explained ? 0 : fail(explained.error(), "mrrope doctor --list");
  }
  if (options.files.empty())
    return fail({ErrorCode::invalid_argument, "which file? A .gguf, a folder or a config.json", "MODEL"});
  if (!options.target.empty()) {
    if (const auto named = engine_named(options.target); !named)
      return fail({named.error().code, named.error().message, "--target"});
  }
  return run_files(options);
}

}  // namespace

void add_doctor(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("doctor",
                                             "what each engine will really do with a file; coded findings\n"
                                             "\n"
                                             "  mrrope doctor model.gguf\n"
                                             "  mrrope doctor path/to/model --target vllm --fail-on warning\n"
                                             "  mrrope doctor --explain R109\n");
  command->add_option("MODEL", options->files, "each a .gguf, a Hugging Face folder or config.json");
  command->add_option("--target", options->target, "one engine only; what it does wrong is an error")
      ->type_name("ENGINE");
  command->add_option("--fail-on", options->fail_on, "exit with 3 from this severity on (default error)")
      ->type_name("SEVERITY")
      ->check(CLI::IsMember({"note", "warning", "error", "never"}));
  CLI::Option* list = command->add_flag("--list", options->list, "all findings there are");
  CLI::Option* explain = command->add_option("--explain", options->explain, "a code in a few paragraphs");
  explain->type_name("CODE")->excludes(list);
  command->add_flag("--json", options->json, "for programs; of several files an array")->excludes(list, explain);
  command->callback([options, &action] { action = [options] { return run_doctor(*options); }; });
}

}  // namespace mrrope::cli

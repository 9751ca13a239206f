// SPDX-License-Identifier: MIT
//
// mrrope demo: the small model that comes with mrrope, from its file to a page of measured results, by the commands
// that people type. It does nothing that they do not do.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/host.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Options {
  std::string folder = "mrrope-demo";
};

struct Step {
  const char* why;
  Words words;
};

// Whether models run here: mrrope-eval was built with llama.cpp, or a package has brought one (packaging/llama).
bool runs_models() {
  std::error_code unseen;
  return MRROPE_RUNS_MODELS || fs::exists(own_program().parent_path().parent_path() / "lib/mrrope/mrrope-eval", unseen);
}

// Where an installation, an unpacked archive or a build has it; empty: nowhere.
fs::path small_model() {
  const fs::path program = own_program();
  if (!program.is_absolute()) return {};
  std::error_code unseen;
  for (const fs::path& place :
       {program.parent_path().parent_path() / "share/mrrope", program.parent_path() / "share"}) {
    const fs::path model = place / "tiny-512.gguf";
    if (fs::is_regular_file(model, unseen)) return model;
  }
  return {};
}

// An Error if there is no place for the files of the demo.
Result<void> make_place(const fs::path& folder) {
  std::error_code status;
  fs::create_directories(folder, status);
  if (!status && !fs::is_empty(folder, status) && !status) {
    return Error{ErrorCode::invalid_argument, "the folder is not empty; name another with -o", base::to_text(folder)};
  }
  if (!status) fs::copy_file(small_model(), folder / "model.gguf", status);
  if (status) return Error{ErrorCode::io, status.message(), base::to_text(folder)};
  return {};
}

std::vector<Step> steps_in(const fs::path& folder) {
  const std::string model = base::to_text(folder / "model.gguf");
  const std::string longer = base::to_text(folder / "longer.gguf");
  const std::string run = base::to_text(folder / "needles");
  std::vector<Step> steps = {
      {"What is it?", {"inspect", model}},
      {"Four times its length. The original stays as it is.", {"extend", model, "-c", "2k", "-o", longer}},
      {"What do engines make of the new file?", {"doctor", longer}},
  };
  if (!runs_models()) return steps;
  const std::vector<Step> measured = {
      {"Does it find a number that is hidden in a long text: unextended, with YaRN, and with a table that grows?",
       {"eval", "niah", "-m", model, "--methods", "none,yarn,climb:mrrope-pro", "--factor", "4", "--lengths", "512,2k",
        "--depths", "6", "-o", run}},
      {"Is the difference more than luck?", {"compare", run}},
      {"The same as a page.", {"report", run, "-o", base::to_text(folder / "page.html")}},
  };
  steps.insert(steps.end(), measured.begin(), measured.end());
  return steps;
}

int run_demo(const Options& options) {
  const auto began = std::chrono::steady_clock::now();
  const fs::path folder = base::to_path(options.folder);
  if (small_model().empty()) {
    return fail(Error{ErrorCode::io, "the small model, share/mrrope/tiny-512.gguf, is not beside this mrrope", ""},
                kGetEval);
  }
  if (const auto ok = make_place(folder); !ok) return fail(ok.error());
  print("A 2 MB model, trained on texts of 512 tokens, is extended to read 2048.\n");
  for (const Step& step : steps_in(folder)) {
    std::string command = "$ mrrope";
    for (const std::string& word : step.words) command += " " + base::shell_quoted(word);
    print("\n{}\n{}\n", dim(wrap(step.why, terminal().width, 0)), bold(command));
    const std::optional<int> status = run_this_program(step.words);
    if (!status) return fail(Error{ErrorCode::io, "mrrope could not start itself", ""});
    if (*status != 0) {
      note("The demo ends here; {} has what it made.\n", base::to_text(folder));
      return *status;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  print("\n");
  if (!runs_models()) {
    print_fact("done", fmt::format("in {:.0f} s; to ask the model and to measure it, this mrrope lacks llama.cpp",
                                   took.count()));
    print_fact("next", kGetEval);
    return 0;
  }
  print_fact("done",
             fmt::format("in {:.0f} s: open {} in a browser", took.count(), base::to_text(folder / "page.html")));
  print_fact("next", "mrrope inspect model.gguf   # yours");
  return 0;
}

}  // namespace

void add_demo(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("demo",
                                             "a small model extended, asked and measured, in a minute\n"
                                             "\n"
                                             "  mrrope demo\n");
  command->add_option("-o,--output", options->folder, "a new folder (mrrope-demo)")->type_name("FOLDER");
  command->callback([options, &action] { action = [options] { return run_demo(*options); }; });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/host.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "mrrope/version.h"

namespace mrrope::cli {

namespace {

constexpr const char* kDescription =
    "Longer context for RoPE language models, without training.\n"
    "\n"
    "  mrrope inspect model.gguf                        show lengths, rotation, cache\n"
    "  mrrope plan model.gguf -c 256k                   recommend a setting\n"
    "  mrrope extend model.gguf -c 256k -o longer.gguf  write it\n"
    "  mrrope eval ppl -m model.gguf -f text.txt \\\n"
    "      --factor 4 --lengths 8k,32k                  measure gain and cost\n"
    "  mrrope tune model.gguf -c 256k                   search for a better setting\n"
    "  mrrope probe http://host:8080 -m longer.gguf     find out what a server runs\n"
    "\n"
    "inspect, plan, extend and doctor take a Hugging Face folder, too;\n"
    "plan also takes --spec dim=128,base=1e4,ctx=4k.\n";

// What mrrope-llama in `folder` says of itself, where that is another version; pip replaces one package and leaves the
// other with a warning at most.
std::string version_of_package(const std::filesystem::path& folder) {
  std::ifstream file(folder / "VERSION");
  std::string version;
  std::getline(file, version);
  return version == MRROPE_VERSION ? "" : base::printable(version);
}

// Measuring lives in a program of its own, so that everything else starts without llama.cpp: beside this one, unless a
// package that has llama.cpp has put another into ../lib/mrrope (packaging/llama). `words`: its own, beginning with a
// name.
int run_eval(const std::vector<std::string>& words) {
  const std::filesystem::path folder = own_program().parent_path();
  if (!folder.is_absolute()) {
    print_error("the system does not say where this program is, and so not where mrrope-eval is",
                "on Linux it is read from /proc");
    return 1;
  }
  if (const std::string other = version_of_package(folder.parent_path() / "lib" / "mrrope"); !other.empty()) {
    print_error("mrrope-llama " + other + " is installed beside mrrope " MRROPE_VERSION ", which wants its own version",
                "pip install --upgrade 'mrrope[eval]'");
    return 1;
  }
  bool none = true;
  for (const std::filesystem::path& place : {folder.parent_path() / "lib" / "mrrope", folder}) {
    bool missing = true;
    if (const std::optional<int> status = become(place / program_name("mrrope-eval"), words, missing)) return *status;
    none = none && missing;
  }
  print_error(none ? "this mrrope was built without llama.cpp and libcurl, or mrrope-eval is not beside it"
                   : "mrrope-eval could not be started",
              kGetEval);
  return 1;
}

// "mrrope help plan" and "mrrope version" are what people try first.
std::vector<std::string> in_options(std::vector<std::string> words) {
  if (words.size() > 1 && words[1] == "help") {
    words.erase(words.begin() + 1);
    words.emplace_back("--help");
  } else if (words.size() == 2 && words[1] == "version") {
    words[1] = "--version";
  }
  return words;
}

int run(std::vector<std::string> words) {
  const std::string first = words.size() > 1 ? words[1] : "";
  if (first == "eval") return run_eval({words.begin() + 1, words.end()});
  if (first == "campaign") return run_campaign({words.begin() + 2, words.end()});
  const bool attention = std::find(words.begin(), words.end(), "--attention") != words.end();
  if (first == "tune" || first == "probe" || (first == "analyze" && attention)) return run_eval(words);
  if (first == "complete" && words.size() > 3 && (words[2] == "tune" || words[2] == "probe")) return run_eval(words);
  if (first == "complete" && words.size() > 3 && words[2] == "eval") {
    words.erase(words.begin() + 2);  // "mrrope complete eval ppl …" is "mrrope-eval complete ppl …"
    return run_eval(words);
  }
  CLI::App program(kDescription, "mrrope");
  Action action;
  add_inspect(program, action);
  add_plan(program, action);
  add_extend(program, action);
  add_ladder(program, action);
  add_doctor(program, action);
  add_diff(program, action);
  add_analyze(program, action);
  program.add_subcommand("eval", "measure plans on a real model and text");
  program.add_subcommand("tune",
                         "the best plan for this model, found by measuring\n"
                         "\n"
                         "  mrrope tune model.gguf -c 32k -f 'texts/*' -o tuned\n"
                         "  mrrope tune --help\n");
  program.add_subcommand("probe",
                         "what a running server really runs: its length, its table\n"
                         "\n"
                         "  mrrope probe http://localhost:8080 -m model.gguf\n"
                         "  mrrope probe --help\n");
  program.add_subcommand("campaign",
                         "models x plans x measurements, here or on a Ray cluster\n"
                         "\n"
                         "  mrrope campaign campaign.yaml --dry-run\n"
                         "  mrrope campaign --help\n");
  add_compare(program, action);
  add_report(program, action);
  add_merge(program, action);
  add_export(program, action);
  add_methods(program, action);
  add_demo(program, action);
  return run_program(program, action, words);
}

}  // namespace

}  // namespace mrrope::cli

int main(int argc, char** argv) {
  mrrope::cli::hold_standard_streams();
  try {
    return mrrope::cli::run(mrrope::cli::in_options(mrrope::cli::words_of(argc, argv)));
  } catch (const std::exception& error) {
    mrrope::cli::print_error(error.what());
    return 1;
  }
}

// SPDX-License-Identifier: MIT
//
// mrrope-eval: what `mrrope eval`, `mrrope tune` and `mrrope probe` start.
#include <exception>
#include <string>
#include <vector>

#include "cli/eval/llama_folder.h"
#include "cli/host.h"
#include "cli/program.h"
#include "cli/terminal.h"

int main(int argc, char** argv) {
  using namespace mrrope::cli;
  hold_standard_streams();
  try {
    const std::vector<std::string> words = words_of(argc, argv);
    if (const auto ok = use_named_llama(words); !ok) return fail(ok.error());
    Action action;
    if (words.size() > 1 && words[1] == "analyze") {
      CLI::App program("What mrrope analyze needs llama.cpp for.", "mrrope");
      add_attention(program, action);
      return run_program(program, action, words);
    }
    const bool completes = words.size() > 2 && words[1] == "complete";
    if (words.size() > 1 && words[completes ? 2 : 1] == "tune") {
      CLI::App program("What mrrope tune needs llama.cpp for.", "mrrope");
      add_tune(program, action, words);
      return run_program(program, action, words);
    }
    if (words.size() > 1 && words[completes ? 2 : 1] == "probe") {
      CLI::App program("What mrrope probe needs libcurl for.", "mrrope");
      add_probe(program, action);
      return run_program(program, action, words);
    }
    CLI::App program(
        "Measures plans on a real model and text, with llama.cpp.\n"
        "\n"
        "  mrrope eval ppl -m model.gguf -f 'texts/*' --factor 4 --lengths 8k,32k -o run\n"
        "  mrrope eval niah -m model.gguf --factor 4 --lengths 8k,16k,32k -o run\n"
        "  mrrope eval suite -m model.gguf --factor 4 --quick\n",
        "mrrope eval");
    add_ppl(program, action, words);
    add_gap(program, action, words);
    add_benchmarks(program, action, words);
    add_suite(program, action, words);
    return run_program(program, action, words);
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}

// SPDX-License-Identifier: MIT
//
// mrrope-eval: what `mrrope eval`, `mrrope tune` and `mrrope probe` start.
#include <exception>
#include <string_view>

#include "cli/program.h"
#include "cli/terminal.h"

int main(int argc, char** argv) {
  using namespace mrrope::cli;
  hold_standard_streams();
  try {
    Action action;
    if (argc > 1 && std::string_view(argv[1]) == "analyze") {
      CLI::App program("What mrrope analyze needs llama.cpp for.", "mrrope");
      add_attention(program, action);
      return run_program(program, action, argc, argv);
    }
    const bool completes = argc > 2 && std::string_view(argv[1]) == "complete";
    if (argc > 1 && std::string_view(argv[completes ? 2 : 1]) == "tune") {
      CLI::App program("What mrrope tune needs llama.cpp for.", "mrrope");
      add_tune(program, action, {argv, argv + argc});
      return run_program(program, action, argc, argv);
    }
    if (argc > 1 && std::string_view(argv[completes ? 2 : 1]) == "probe") {
      CLI::App program("What mrrope probe needs libcurl for.", "mrrope");
      add_probe(program, action);
      return run_program(program, action, argc, argv);
    }
    CLI::App program(
        "Measures plans on a real model and text, with llama.cpp.\n"
        "\n"
        "  mrrope eval ppl -m model.gguf -f 'texts/*' --factor 4 --lengths 8k,32k -o run\n"
        "  mrrope eval niah -m model.gguf --factor 4 --lengths 8k,16k,32k -o run\n"
        "  mrrope eval suite -m model.gguf --factor 4 --quick\n",
        "mrrope eval");
    add_ppl(program, action, {argv, argv + argc});
    add_gap(program, action, {argv, argv + argc});
    add_benchmarks(program, action, {argv, argv + argc});
    add_suite(program, action, {argv, argv + argc});
    return run_program(program, action, argc, argv);
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}

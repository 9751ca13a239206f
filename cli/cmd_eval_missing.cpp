// SPDX-License-Identifier: MIT
//
// mrrope eval in a program that was built without llama.cpp.
#include "cli/commands.h"
#include "cli/terminal.h"

namespace mrrope::cli {

void add_eval(CLI::App& program, Action& action, const std::vector<std::string>& /*words*/) {
  CLI::App* command = program.add_subcommand("eval", "measure plans on a real model (not in this build)\n");
  command->allow_extras();
  command->callback([&action] {
    action = [] {
      print_error("this mrrope was built without llama.cpp",
                  "tools/llama_cpp builds llama.cpp; then cmake --preset release && cmake --build --preset release");
      return 1;
    };
  });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// What mrrope and mrrope-eval have in common: help, mistakes in what was typed, the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace mrrope::cli {

// Parses the command line, whose first word is a name, runs the action that a subcommand has set, and answers mistakes.
// The exit status.
int run_program(CLI::App& program, Action& action, const std::vector<std::string>& words);

}  // namespace mrrope::cli

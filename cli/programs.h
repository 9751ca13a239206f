// SPDX-License-Identifier: MIT
//
// This program as a file, and as a process that others start.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mrrope::cli {

// The file that runs, links followed. Empty where the system does not say.
std::filesystem::path this_program();

// Runs `mrrope WORD…` on the same terminal, waits for it, and returns its exit status (130: interrupted). Ctrl-C goes
// to it alone: what it keeps, it keeps.
int run_this_program(std::vector<std::string> words);

}  // namespace mrrope::cli

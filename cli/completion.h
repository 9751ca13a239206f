// SPDX-License-Identifier: MIT
//
// Completions of shells and manual pages, both made from the commands as CLI11 knows them, so that neither can say
// anything else than --help.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mrrope::cli {

// The manual page of a program, in the language of man(7).
std::string manual_page(CLI::App& program);

// Answers "complete WORD…", "completions SHELL" and "man", which are for programs and not in the list of commands; the
// exit status, or nothing if the words are something else. `words`: without the program's name.
std::optional<int> answer_shell(CLI::App& program, const std::vector<std::string>& words);

}  // namespace mrrope::cli

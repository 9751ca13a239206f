// SPDX-License-Identifier: MIT
//
// What the programs ask of the system they run on, besides files: cli/host has it for POSIX and for Windows, of which
// CMake takes one; hold_standard_streams() of cli/terminal.h is there, too. All texts are UTF-8.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mrrope::cli {

// The command line, as it was typed.
std::vector<std::string> words_of(int argc, char** argv);

// Empty where it is not set.
std::string environment_variable(const char* name);
// Where it is not set yet; for programs that are started.
void offer_environment_variable(const char* name, const std::string& value);

bool is_terminal(std::FILE* stream);
// Of the window that shows stdout; 0: none does.
std::size_t window_columns();

// The file of this program, from the root; empty if the system does not say (Linux without /proc). What lies beside an
// empty path lies in the current folder, which is a stranger's.
std::filesystem::path own_program();
// The name of another one: "mrrope-eval" is mrrope-eval.exe on Windows.
std::string program_name(const std::string& name);
// "python3", or what it is called here.
std::string python_name();
bool is_program(const std::filesystem::path& path);

// Runs another program in the place of this one, on the same terminal: its exit status, where the system cannot do
// better than wait for it. A program without a folder is looked for in PATH. `words` begin with a name. Nothing: it
// could not be started, for the reason in `missing`.
std::optional<int> become(const std::filesystem::path& program, const std::vector<std::string>& words, bool& missing);

// Runs `mrrope WORD…` on the same terminal and waits for it: its exit status (130: interrupted). Ctrl-C goes to it
// alone: what it keeps, it keeps. Nothing: it could not be started.
std::optional<int> run_this_program(std::vector<std::string> words);

// Calls `handler` on Ctrl-C and where the system asks the program to end; it may run in a thread of its own.
void on_interrupt(void (*handler)());
// At once, from such a handler.
[[noreturn]] void leave(int status);

// "Intel(R) Xeon(R), 8 processors", for records.
std::string machine_name();

}  // namespace mrrope::cli

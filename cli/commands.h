// SPDX-License-Identifier: MIT
//
// The subcommands. Each adds itself to the program; what it returns is the exit status: 0 done, 1 failure, 2 wrong
// usage, 3 findings or a threshold missed, 130 interrupted.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::cli {

using Action = std::function<int()>;

// Adds the command and sets `action` when it is the one that was called.
void add_inspect(CLI::App& program, Action& action);
void add_plan(CLI::App& program, Action& action);
void add_extend(CLI::App& program, Action& action);
void add_ladder(CLI::App& program, Action& action);
void add_doctor(CLI::App& program, Action& action);
void add_diff(CLI::App& program, Action& action);
void add_analyze(CLI::App& program, Action& action);
// `words`: the command line, for the record.
void add_attention(CLI::App& program, Action& action);  // mrrope analyze --attention
void add_ppl(CLI::App& program, Action& action, const std::vector<std::string>& words);
void add_gap(CLI::App& program, Action& action, const std::vector<std::string>& words);
void add_benchmarks(CLI::App& program, Action& action, const std::vector<std::string>& words);
void add_suite(CLI::App& program, Action& action, const std::vector<std::string>& words);
void add_tune(CLI::App& program, Action& action, const std::vector<std::string>& words);
void add_probe(CLI::App& program, Action& action);
void add_compare(CLI::App& program, Action& action);
void add_report(CLI::App& program, Action& action);
void add_merge(CLI::App& program, Action& action);
void add_export(CLI::App& program, Action& action);
void add_methods(CLI::App& program, Action& action);
void add_demo(CLI::App& program, Action& action);

// mrrope campaign WORD…: becomes the Python that has it. Returns if there is none.
int run_campaign(const std::vector<std::string>& words);

// What to do about a mrrope that runs no models. mrrope-llama is for Linux with glibc; its static programs are, too.
#ifdef __linux__
inline constexpr const char* kGetEval =
    "pip install 'mrrope[eval]'; or from source: tools/llama_cpp, then cmake --preset release && cmake --build "
    "--preset release";
#else
inline constexpr const char* kGetEval = "ask a server, llama-server for example: mrrope eval niah --endpoint URL …";
#endif

// Prints the error and what to do about it; 2 if it lies in what was typed (its place is a flag), else 1.
int fail(const Error& error, std::string_view hint = {});

}  // namespace mrrope::cli

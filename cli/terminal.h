// SPDX-License-Identifier: MIT
//
// What the person's terminal can show, and the one way to it. Decided once per process; output that is piped has no
// colour.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace mrrope::cli {

struct Terminal {
  bool colour = false;     // stdout is a terminal that is not "dumb", and NO_COLOR is unset
  bool progress = false;   // stderr is a terminal that can clear a line
  bool unicode = true;     // unless the locale says otherwise
  std::size_t width = 80;  // of the window, else what COLUMNS says, else 80
};
const Terminal& terminal();

// Emphasis, as far as the terminal has it.
std::string bold(std::string_view text);
std::string dim(std::string_view text);

// Columns a UTF-8 text takes (one per code point: all we print is single width).
std::size_t columns(std::string_view text);

// Breaks a sentence into lines of `width` columns; every line after the first starts with `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// Texts of files, folders and servers stand in what we print. Whatever in it a terminal would obey becomes '?' here,
// but for line feeds, tabs and our own emphasis. Every print goes through it (tests/architecture). A stream that cannot
// be written is no error yet: run_program looks at stdout in the end, and nobody reads stderr then.
void put(std::FILE* stream, std::string_view text);

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  put(stdout, fmt::format(format, std::forward<Args>(args)...));
}

// The same on stderr.
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  put(stderr, fmt::format(format, std::forward<Args>(args)...));
}

// "model     64 pairs": a label, and what belongs to it beside it, wrapped at 80 columns.
std::string fact_label(std::string_view label);
void print_fact(std::string_view label, std::string_view text);

// One line on stderr in the place of the last one, where terminal().progress; "" clears it. Elsewhere (a pipe, a log) a
// line of its own, at most every ten seconds.
void show_progress(std::string_view line);

// "error: …" on stderr, in one line whatever is in the message, with a "hint: …" line if given.
void print_error(std::string_view message, std::string_view hint = {});

// Before anything is opened: a closed stdin, stdout or stderr would be the number of the next file, and a message would
// overwrite it. They become files that cannot be used the way they are meant.
void hold_standard_streams();

}  // namespace mrrope::cli

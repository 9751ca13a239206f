// SPDX-License-Identifier: MIT
//
// What the person's terminal can show. Decided once per process; output that is piped has no colour.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mrrope::cli {

struct Terminal {
  bool colour = false;     // stdout is a terminal and NO_COLOR is unset
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

// "error: …" on stderr, with a "hint: …" line if given.
void print_error(std::string_view message, std::string_view hint = {});

}  // namespace mrrope::cli

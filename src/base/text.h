// SPDX-License-Identifier: MIT
//
// Small text helpers shared by the parsers of names, specs and files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrrope::base {

// The parts of `text` between separators; one empty part for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

// "a, b, c".
std::string join(std::span<const std::string_view> parts, std::string_view separator = ", ");

// `text` with the first `from` replaced by `to`; as it is where there is none.
std::string replaced(std::string text, std::string_view from, std::string_view to);

// `word` as a shell reads it back: as it is where that is safe, else in single quotes; $'…' (bash, zsh, ksh) where it
// has bytes that printable() would replace.
std::string shell_quoted(std::string_view word);

// The candidate a person most probably meant: smallest edit distance, at most a third of the word, rounded up; empty if
// none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// A name or text from a file as it may stand in a message or on a terminal: each byte that is_visible() refuses becomes
// '?', and after `limit` bytes it is cut.
std::string printable(std::string_view text, std::size_t limit = 80);

// The same for a whole output: nothing is cut; line feeds and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace mrrope::base

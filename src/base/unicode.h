// SPDX-License-Identifier: MIT
//
// As much of Unicode as scoring rules written in Python rest on: case, white space, word characters; and what may be
// shown. Texts are UTF-8; a byte that is not part of a character stands for itself, is no letter and no space, and
// survives every function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mrrope::base {

struct CodePoint {
  char32_t value = 0;  // kNoCharacter for a byte that belongs to none
  std::size_t bytes = 1;
};
inline constexpr char32_t kNoCharacter = 0xFFFFFFFF;

// Refuses overlong forms, surrogates and values beyond U+10FFFF. Domain: text is not empty.
CodePoint first_code_point(std::string_view text);

// Whether a terminal or an editor shows `c` where it stands: no control character (line feed and tab are some), no mark
// that turns the direction of writing, no invisible tag, no byte that is no character.
bool is_visible(char32_t c) noexcept;

// str.lower() of Python, Unicode 14; but a capital sigma becomes σ at the end of a word, too.
std::string lower_case(std::string_view text);
// str.upper(), character by character: ß stays, as do the few others that would become two.
std::string upper_case(std::string_view text);

// str.isspace().
bool is_white_space(char32_t c) noexcept;
// \w of Python's re, for text as it is written: outside ASCII what is neither space, punctuation, symbol nor combining
// accent, by whole blocks.
bool is_word_character(char32_t c) noexcept;

// str.strip() and str.split().
std::string_view stripped(std::string_view text);
std::vector<std::string_view> words(std::string_view text);

}  // namespace mrrope::base

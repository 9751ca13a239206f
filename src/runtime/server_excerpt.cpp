// SPDX-License-Identifier: MIT
//
// A server may say anything, the key it was sent included, and its words end up in errors.
#include <algorithm>
#include <cstddef>

#include "runtime/server_api.h"

namespace mrrope::runtime {

namespace {

constexpr std::size_t kMaxExcerpt = 300;
constexpr std::size_t kTellingPart = 8;
constexpr std::string_view kHidden = "[key]";

// Length of the UTF-8 character at the beginning of `text`; 0 if there is none, or one that moves a cursor: C1
// controls, and the marks and separators of U+2028 … U+202E and U+2066 … U+2069, which can turn the text around.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  char32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = code < (length == 4 ? 0x10000U : length == 3 ? 0x800U : 0x80U);
  const bool moves = code < 0xa0 || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || moves || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : length;
}

// Runs of what cannot be shown become one blank.
std::string shown(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = character(bytes);
    if (length > 0 && bytes.front() != ' ') {
      text += bytes.substr(0, length);
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

// Length of the part of the key that begins here, 0 if it is too short to tell anything.
std::size_t part_of_key(std::string_view text, std::string_view key) {
  const std::size_t least = std::min(kTellingPart, key.size());
  std::size_t longest = 0;
  for (std::size_t start = 0; start + least <= key.size(); ++start) {
    const std::string_view part = key.substr(start);
    const auto [in_text, in_key] = std::mismatch(text.begin(), text.end(), part.begin(), part.end());
    longest = std::max(longest, static_cast<std::size_t>(in_text - text.begin()));
  }
  return longest >= least ? longest : 0;
}

}  // namespace

std::string excerpt(std::string_view bytes, std::string_view api_key) {
  // A key that begins within the excerpt has to be seen whole; blanks that are run together move text to the front.
  const std::string text = shown(bytes.substr(0, 8 * kMaxExcerpt + api_key.size()));
  std::string out;
  std::string_view rest = text;
  while (!rest.empty() && out.size() < kMaxExcerpt) {
    const std::size_t hidden = api_key.empty() ? 0 : part_of_key(rest, api_key);
    const std::size_t length = hidden > 0 ? hidden : std::max<std::size_t>(character(rest), 1);
    out += hidden > 0 ? kHidden : rest.substr(0, length);
    rest.remove_prefix(length);
  }
  if (!rest.empty()) out += " …";
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace mrrope::runtime

// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace mrrope::base {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  std::string text;
  for (const std::string_view part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

namespace {

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') quoted += "'\\''";  // ends the quotes, an apostrophe, begins them again
    else quoted += c;
  }
  return quoted + "'";
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return {};  // nobody mistypes a name that long; keeps the cost bounded
  std::string_view best;
  std::size_t best_distance = (word.size() + 2) / 3 + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

namespace {

// Length of the UTF-8 sequence that `text` begins with; 0 if it is none, or a control character.
std::size_t visible_sequence(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  }
  return lead == 0xc2 && byte(1) < 0xa0 ? 0 : length;  // U+0080 to U+009F steer terminals
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = visible_sequence(text);
    if (out.size() + length > limit) return out + "…";
    out += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/unicode.h"

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

// Appends the first character of `text`, or a '?' for each of its bytes, and drops it.
void take_visible(std::string_view& text, std::string& out) {
  const CodePoint first = first_code_point(text);
  if (is_visible(first.value)) out += text.substr(0, first.bytes);
  else out.append(first.bytes, '?');
  text.remove_prefix(first.bytes);
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    const std::size_t before = out.size();
    take_visible(text, out);
    if (out.size() > limit) return out.substr(0, before) + "…";
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '\n' && text.front() != '\t') {
      take_visible(text, out);
      continue;
    }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace mrrope::base

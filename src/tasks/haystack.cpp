// SPDX-License-Identifier: MIT
#include "tasks/haystack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace mrrope::eval::drafts {

namespace {

constexpr std::size_t kLongestWord = 24;
constexpr std::int64_t kFewestWords = 100;

constexpr std::array<std::string_view, 19> kNoise = {"The",   "grass", "is",  "green.", "The",     "sky",  "is",
                                                     "blue.", "The",   "sun", "is",     "yellow.", "Here", "we",
                                                     "go.",   "There", "and", "back",   "again."};

bool is_space(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Calls visit(word, is_new) for each word, or piece of a long one, until it returns false.
template <class Visit>
void each_word(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) {
      if (end - at >= kLongestWord && (!continues_character(text[end]) || end - at >= kLongestWord + 3)) break;
      ++end;
    }
    const bool new_word = at == 0 || is_space(text[at - 1]);
    if (!visit(text.substr(at, end - at), new_word)) return;
    at = end;
  }
}

// The nearest place to `target` that `is_place` accepts, at most `reach` away.
template <class IsPlace>
std::optional<std::size_t> nearest(std::size_t target, std::size_t size, std::size_t reach, const IsPlace& is_place) {
  for (std::size_t away = 0; away <= reach; ++away) {
    if (away <= target && is_place(target - away)) return target - away;
    if (target + away <= size && is_place(target + away)) return target + away;
  }
  return std::nullopt;
}

// Does a sentence begin at `at`? The word before it has four letters or more, unlike "Mrs." and "J.".
bool begins_sentence(std::string_view text, std::size_t at) {
  if (at == 0 || at == text.size()) return true;
  if (text[at - 1] != ' ') return false;
  std::size_t end = at - 1;
  while (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'' || text[end - 1] == ')')) --end;
  if (end < 5 || (text[end - 1] != '.' && text[end - 1] != '?' && text[end - 1] != '!')) return false;
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(end) - 5,
                     text.begin() + static_cast<std::ptrdiff_t>(end) - 1, [](char c) { return c != ' '; });
}

std::size_t place(std::string_view text, Places places, double depth) {
  const std::size_t size = text.size();
  const std::size_t target = std::min(size, static_cast<std::size_t>(depth * static_cast<double>(size)));
  const auto is_edge = [&](std::size_t at) { return at == 0 || at == size; };
  if (places == Places::lines) {
    return *nearest(target, size, size, [&](std::size_t at) { return is_edge(at) || text[at - 1] == '\n'; });
  }
  const std::size_t reach = size / 20;
  if (const auto at = nearest(target, size, reach, [&](std::size_t p) { return begins_sentence(text, p); })) return *at;
  if (const auto at = nearest(target, size, reach, [&](std::size_t p) { return is_edge(p) || text[p - 1] == ' '; })) {
    return *at;
  }
  const auto is_character = [&](std::size_t p) { return is_edge(p) || !continues_character(text[p]); };
  return nearest(target, size, 3, is_character).value_or(target);
}

}  // namespace

std::string prose(std::string_view text, std::int64_t words) {
  std::string out;
  for (std::int64_t left = words; left > 0;) {
    each_word(text, [&](std::string_view word, bool new_word) {
      if (left == 0) return false;
      if (new_word && !out.empty()) out += ' ';
      out += word;
      return --left > 0;
    });
  }
  return out;
}

Cut cut_after(std::string_view text, std::int64_t words) {
  Cut cut;
  if (words <= 0) return cut;
  each_word(text, [&](std::string_view word, bool) {
    cut.bytes = static_cast<std::size_t>(word.data() - text.data()) + word.size();
    return ++cut.words < words;
  });
  return cut;
}

Result<void> check_haystack(std::string_view text) {
  std::int64_t words = 0;
  each_word(text, [&](std::string_view, bool) { return ++words < kFewestWords; });
  if (words == kFewestWords) return {};
  return Error{ErrorCode::invalid_argument,
               words == 0 ? "expected prose to hide things in, found none"
                          : fmt::format("expected prose of at least {} words, found {}", kFewestWords, words),
               "", "haystack"};
}

std::string noise(std::int64_t words) {
  std::string out;
  for (std::int64_t i = 0; i < words; ++i) {
    const auto word = static_cast<std::size_t>(i) % kNoise.size();
    if (i > 0) out += word == 0 ? '\n' : ' ';
    out += kNoise[word];
  }
  return out;
}

Hidden hide(std::string_view haystack, Places places, std::span<const std::string> needles,
            std::span<const double> depths) {
  const char separator = places == Places::lines ? '\n' : ' ';
  std::vector<std::size_t> at;
  for (const double depth : depths) at.push_back(place(haystack, places, depth));
  std::vector<std::size_t> order(needles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return at[a] < at[b]; });

  Hidden out{.needles = std::vector<Range>(needles.size())};
  std::size_t done = 0;
  for (const std::size_t i : order) {
    out.text += haystack.substr(done, at[i] - done);
    done = at[i];
    if (!out.text.empty() && out.text.back() != separator) out.text += separator;
    out.needles[i] = {out.text.size(), out.text.size() + needles[i].size()};
    out.text += needles[i];
    if (done < haystack.size()) out.text += separator;
  }
  out.text += haystack.substr(done);
  return out;
}

}  // namespace mrrope::eval::drafts

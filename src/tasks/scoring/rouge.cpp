// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unicode.h"
#include "mrrope/scoring.h"
#include "tasks/scoring/porter.h"

namespace mrrope::eval {

namespace {

using Counts = std::unordered_map<std::string, std::size_t>;

// Words of any English text, whatever it is about.
constexpr auto kStopWords = std::to_array<std::string_view>(
    {"a",    "an",   "and",  "are",   "as",    "at",   "be",    "been",  "but",   "by",   "can",   "did", "do",
     "does", "for",  "from", "had",   "has",   "have", "he",    "her",   "his",   "how",  "i",     "if",  "in",
     "into", "is",   "it",   "its",   "my",    "no",   "not",   "of",    "on",    "or",   "our",   "she", "so",
     "than", "that", "the",  "their", "them",  "then", "there", "these", "they",  "this", "those", "to",  "was",
     "we",   "were", "what", "when",  "which", "who",  "will",  "with",  "would", "you",  "your"});

bool is_stop_word(std::string_view word) {
  return std::find(kStopWords.begin(), kStopWords.end(), word) != kStopWords.end();
}

bool is_token_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Runs of [a-z0-9], not yet stemmed.
std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : base::lower_case(text) + ' ') {
    if (is_token_character(c)) {
      word += c;
    } else if (!word.empty()) {
      found.push_back(std::move(word));
      word.clear();
    }
  }
  return found;
}

Counts stems(const std::vector<std::string>& words) {
  Counts counts;
  for (const std::string& word : words) ++counts[word.size() > 3 ? scoring::porter_stem(word) : word];
  return counts;
}

std::size_t common(const Counts& a, const Counts& b) {
  std::size_t sum = 0;
  for (const auto& [word, count] : a) {
    const auto other = b.find(word);
    if (other != b.end()) sum += std::min(count, other->second);
  }
  return sum;
}

double fraction(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Rouge rouge1(std::string_view reference, std::string_view answer) {
  const std::vector<std::string> wanted = tokens(reference), given = tokens(answer);
  const std::size_t shared = common(stems(wanted), stems(given));
  Rouge rouge{.precision = fraction(shared, given.size()), .recall = fraction(shared, wanted.size())};
  if (shared > 0) rouge.f1 = 2 * rouge.precision * rouge.recall / (rouge.precision + rouge.recall);
  return rouge;
}

double rouge1_recall(std::string_view reference, std::string_view answer) { return rouge1(reference, answer).recall; }

double content_recall(std::string_view reference, std::string_view answer) {
  const std::vector<std::string> all = tokens(reference);
  std::vector<std::string> wanted;
  std::copy_if(all.begin(), all.end(), std::back_inserter(wanted),
               [](const auto& word) { return !is_stop_word(word); });
  if (wanted.empty()) wanted = all;
  return fraction(common(stems(wanted), stems(tokens(answer))), wanted.size());
}

}  // namespace mrrope::eval

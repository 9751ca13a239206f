// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
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

using Sentence = std::vector<std::string>;

constexpr std::size_t kMostWords = 8192;  // of a side of longbook_sum: a table of the product is kept

std::vector<Sentence> sentences(std::string_view text) {
  std::vector<Sentence> lines;
  std::size_t words = 0;
  while (!text.empty() && words < kMostWords) {
    const std::size_t end = text.find('\n');
    Sentence line = tokens(text.substr(0, end));
    if (line.size() > kMostWords - words) line.resize(kMostWords - words);
    words += line.size();
    if (!line.empty()) lines.push_back(std::move(line));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// Marks the words of `wanted` that are in one longest common subsequence with `given`: of several, that which the walk
// back from the ends finds when it leaves a word of `wanted` out wherever it may.
void mark_common(const Sentence& wanted, const Sentence& given, std::vector<bool>& marks) {
  const std::size_t width = given.size() + 1;
  std::vector<std::uint16_t> longest((wanted.size() + 1) * width, 0);
  for (std::size_t i = 1; i <= wanted.size(); ++i) {
    for (std::size_t j = 1; j < width; ++j) {
      const std::uint16_t up = longest[(i - 1) * width + j], left = longest[i * width + j - 1];
      const auto both = static_cast<std::uint16_t>(longest[(i - 1) * width + j - 1] + 1);
      longest[i * width + j] = wanted[i - 1] == given[j - 1] ? both : std::max(up, left);
    }
  }
  for (std::size_t i = wanted.size(), j = given.size(); i > 0 && j > 0;) {
    if (wanted[i - 1] == given[j - 1]) {
      marks[--i] = true;
      --j;
    } else if (longest[i * width + j - 1] > longest[(i - 1) * width + j]) {
      --j;
    } else {
      --i;
    }
  }
}

Counts counted(const std::vector<Sentence>& lines, std::size_t& total) {
  Counts counts;
  for (const Sentence& line : lines) {
    total += line.size();
    for (const std::string& word : line) ++counts[word];
  }
  return counts;
}

double rouge_lsum(const std::vector<Sentence>& wanted, const std::vector<Sentence>& given) {
  std::size_t wanted_words = 0, given_words = 0, hits = 0;
  Counts of_wanted = counted(wanted, wanted_words), of_given = counted(given, given_words);
  for (const Sentence& line : wanted) {
    std::vector<bool> marks(line.size(), false);
    for (const Sentence& other : given) mark_common(line, other, marks);
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!marks[i] || of_wanted[line[i]] == 0 || of_given[line[i]] == 0) continue;
      --of_wanted[line[i]];
      --of_given[line[i]];
      ++hits;
    }
  }
  // Twice the hits over all words is the harmonic mean of precision and recall
  return 2 * fraction(hits, wanted_words + given_words);
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

double longbook_sum(std::span<const std::string> references, std::string_view answer) {
  const std::vector<Sentence> given = sentences(answer);
  double best = 0;
  for (const std::string& reference : references) best = std::max(best, rouge_lsum(sentences(reference), given));
  return best;
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Texts and tokenizers for tests of tasks: nothing of them is the library's.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <string>
#include <string_view>

#include "mrrope/tasks.h"

namespace mrrope::eval::tests {

// One token per byte.
inline Result<std::int64_t> count_bytes(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

// Like a BPE: a word with the space before it in pieces of at most four letters, digits and other signs one by one.
inline Result<std::int64_t> count_pieces(std::string_view text) {
  std::int64_t tokens = 0;
  std::size_t letters = 0;  // of the piece so far
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool letter = std::isalpha(static_cast<unsigned char>(text[i])) != 0;
    if (text[i] == ' ' && i + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0) {
      letters = 0;  // goes with what follows
      continue;
    }
    if (!letter || letters == 0 || letters == 4) ++tokens;
    letters = letter ? letters % 4 + 1 : 0;
  }
  return tokens;
}

struct Tokenizer {
  const char* name;
  TokenCount count;
};
inline const Tokenizer kTokenizers[] = {{"bytes", count_bytes}, {"pieces", count_pieces}};

// `words` words in sentences of 4 to 20, as plain as they are meaningless.
inline std::string made_prose(std::size_t words, unsigned seed = 1) {
  static const char* const kSyllables[] = {"ba", "den", "fi", "gor", "hal", "ki", "lum", "ma", "ner", "o", "pi", "ra"};
  std::string out;
  unsigned state = seed;
  const auto next = [&](unsigned n) { return (state = state * 1664525U + 1013904223U) / 65536U % n; };
  unsigned left = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const bool first = left == 0;
    if (first) left = 4 + next(17);
    std::string word;
    for (unsigned s = next(4) + 1; s > 0; --s) word += kSyllables[next(12)];
    if (first) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
    out += word + (--left == 0 ? (next(8) == 0 ? "?\n\n" : ". ") : " ");
  }
  return out;
}

// All that the generated tasks need: prose, and questions on short paragraphs.
inline const TaskTexts& made_texts() {
  static const TaskTexts texts = [] {
    TaskTexts out{.haystack = made_prose(30'000)};
    for (unsigned d = 0; d < 400; ++d) out.documents.push_back(made_prose(20 + d % 60, d + 10));
    for (std::size_t q = 0; q < 50; ++q) {
      out.documents[q * 7] += "The colour of house " + std::to_string(q) + " is shade" + std::to_string(q) + ".";
      out.questions.push_back({"What is the colour of house " + std::to_string(q) + "?",
                               {"shade" + std::to_string(q), "the shade" + std::to_string(q)},
                               {q * 7, q * 7 + 1, q * 7 + 2},
                               1});
    }
    return out;
  }();
  return texts;
}

inline bool is_generated(const Task& task) { return task.needs != TaskNeeds::items; }

inline std::string_view text_of(const Sample& sample, const Needle& needle) {
  return std::string_view(sample.prompt).substr(needle.begin, needle.end - needle.begin);
}

}  // namespace mrrope::eval::tests

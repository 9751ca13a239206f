// SPDX-License-Identifier: MIT
//
// RULER's common words extraction: a numbered list in which ten words come often and all others seldom. A list of 128k
// tokens has more different words than ours; then pairs of words join them ("amber-lantern"), among the common ones in
// the same proportion as among the others, so that the frequencies stay as they are and the form gives nothing away.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tasks/draft.h"
#include "tasks/words.h"

namespace mrrope::eval::drafts {

namespace {

constexpr std::size_t kCommon = 10;
constexpr std::size_t kFewestWords = 100;
constexpr std::int64_t kMostWords = 500'000;  // half of all pairs; from some 10 million tokens on words come more often

// How often a common word and another one comes.
struct Counts {
  std::int64_t common, other;
};

struct Words {
  std::vector<std::string> common, others;
};

// Words without white space, each once, in the order of the sample.
Result<std::vector<std::string>> pool_of(const Brief& brief) {
  std::vector<std::string> pool = brief.texts.words;
  if (pool.empty()) {
    pool.assign(nouns().begin(), nouns().end());
    pool.insert(pool.end(), adjectives().begin(), adjectives().end());
  }
  std::erase_if(pool, [](const std::string& word) {
    return word.empty() ||
           std::any_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  });
  std::sort(pool.begin(), pool.end());
  pool.erase(std::unique(pool.begin(), pool.end()), pool.end());
  if (pool.size() < kFewestWords) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at least {} different words, found {}", kFewestWords, pool.size()), "", "words"};
  }
  brief.random.fork("pool").shuffle(std::span(pool));
  return pool;
}

bool contains_any(std::string_view word, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return word.find(part) != std::string_view::npos; });
}

// Ten common words and `others` more. No common word is part of another: naming one would name both.
Words chosen(const std::vector<std::string>& pool, const Random& random, std::size_t others) {
  Words out;
  const std::size_t all = kCommon + others;
  const std::size_t missing = all > pool.size() ? all - pool.size() : 0;
  Random pairs = random.fork("pairs");
  std::set<std::string> made;
  const auto new_pair = [&] {
    std::string pair = random_pair(pairs);
    while (contains_any(pair, out.common) || !made.insert(pair).second) pair = random_pair(pairs);
    return pair;
  };

  Random kinds = random.fork("kinds");
  auto next = pool.begin();
  std::vector<std::string> passed;
  for (std::size_t i = 0; i < kCommon; ++i) {
    if (kinds.fraction() * static_cast<double>(all) < static_cast<double>(missing)) {
      out.common.push_back(new_pair());
      continue;
    }
    const auto overlaps = [&](const std::string& word) {
      return contains_any(word, out.common) ||
             std::any_of(out.common.begin(), out.common.end(),
                         [&](const std::string& other) { return other.find(word) != std::string::npos; });
    };
    while (next != pool.end() && overlaps(*next)) passed.push_back(*next++);
    out.common.push_back(next != pool.end() ? *next++ : new_pair());
  }
  out.others = std::move(passed);
  out.others.insert(out.others.end(), next, pool.end());
  out.others.resize(std::min(out.others.size(), others));
  while (out.others.size() < others) out.others.push_back(new_pair());
  return out;
}

// `entries` of the other words: the last one may come less often.
Draft listed(const Words& words, const Counts& counts, std::int64_t entries, Random order) {
  std::vector<const std::string*> list;
  for (const std::string& word : words.common) list.insert(list.end(), static_cast<std::size_t>(counts.common), &word);
  for (std::int64_t i = 0; i < entries; ++i) {
    list.push_back(&words.others[static_cast<std::size_t>(i / counts.other) % words.others.size()]);
  }
  order.shuffle(std::span(list));

  Draft out{.prompt = "Below is a numbered list of words. Some come more often than others; memorize those.\n",
            .answer_prefix = "Answer: The 10 most common words in the list are:",
            .answer = {},
            .references = words.common};
  for (std::size_t i = 0; i < list.size(); ++i) {
    fmt::format_to(std::back_inserter(out.prompt), "{}{}. {}", i == 0 ? "" : " ", i + 1, *list[i]);
  }
  out.prompt += "\nQuestion: What are the 10 most common words in the list above?\n";
  for (std::size_t i = 0; i < kCommon; ++i) out.answer += fmt::format(" {}. {}", i + 1, words.common[i]);
  return out;
}

}  // namespace

Forms common_words(const Brief& brief) {
  Result<std::vector<std::string>> pool = pool_of(brief);
  if (!pool) return pool.error();

  // At least ten other words; below that the common ones would be all there is
  const auto form = [&](Counts counts) {
    return [counts, pool = *pool, random = brief.random](Size size) {
      const std::int64_t entries = static_cast<std::int64_t>(kCommon) * counts.other + size.words;
      const std::int64_t others = std::min(kMostWords, (entries + counts.other - 1) / counts.other);
      const Words words = chosen(pool, random, static_cast<std::size_t>(others));
      return listed(words, counts, entries, random.fork("order"));
    };
  };
  // A solved list of other words: those at the end of the pool
  const auto with_example = [&](Counts counts, Counts example_counts, std::size_t example_words) {
    const Words words{.common = {pool->end() - kCommon, pool->end()},
                      .others = {pool->end() - static_cast<std::ptrdiff_t>(example_words), pool->end() - kCommon}};
    const Draft example =
        listed(words, example_counts, example_counts.other * static_cast<std::int64_t>(words.others.size()),
               brief.random.fork("example"));
    return
        [before = example.prompt + example.answer_prefix + example.answer + "\n\n", plain = form(counts)](Size size) {
          Draft out = plain(size);
          out.prompt.insert(0, before);
          return out;
        };
  };
  std::vector<Form> forms;
  if (brief.length >= 4096) forms.push_back({.draft = with_example({30, 3}, {10, 3}, 40)});
  forms.push_back({.draft = with_example({6, 1}, {3, 1}, 20), .share = 0.75});
  forms.push_back({.draft = form({6, 1}), .share = 0.75});
  forms.push_back({.draft = form({3, 1})});
  return forms;
}

}  // namespace mrrope::eval::drafts

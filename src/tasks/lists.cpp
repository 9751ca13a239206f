// SPDX-License-Identifier: MIT
//
// Contexts that are one long list: RULER's frequent coded words, and InfiniteBench's search for an extreme or the
// median. (common_words.cpp has RULER's common words.)
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tasks/draft.h"

namespace mrrope::eval::drafts {

namespace {

// W / (zeta(2) k^2), rounded down: how often the word of rank k comes among about W. 1 / zeta(2) = 6 / pi^2.
std::int64_t zipf_count(std::int64_t words, std::int64_t rank) {
  return words * 607'927'102 / 1'000'000'000 / (rank * rank);
}
// Ranks 2 to 5 come 9, 4, 2 and 1 times: the least at which three are the most frequent.
constexpr std::int64_t kFewestCoded = 64;

struct Find {
  std::string_view name;
  enum class What { largest, smallest, median } what;
  int rank;  // among different values
};
constexpr std::array kFinds = {Find{"largest", Find::What::largest, 1},
                               Find{"second largest", Find::What::largest, 2},
                               Find{"third largest", Find::What::largest, 3},
                               Find{"smallest", Find::What::smallest, 1},
                               Find{"second smallest", Find::What::smallest, 2},
                               Find{"third smallest", Find::What::smallest, 3},
                               Find{"median", Find::What::median, 1}};

using Tally = std::array<std::int64_t, 100>;  // how often each value comes

// The value at a place of the sorted list.
std::int64_t at_place(const Tally& tally, std::int64_t place) {
  std::int64_t value = 0;
  while (value < 99 && place >= tally[static_cast<std::size_t>(value)])
    place -= tally[static_cast<std::size_t>(value++)];
  return value;
}

// Domain: at least `find.rank` different values.
std::string found(const Find& find, const Tally& tally, std::int64_t count) {
  if (find.what == Find::What::median) {
    const std::int64_t twice = at_place(tally, (count - 1) / 2) + at_place(tally, count / 2);
    return fmt::format("{}.{}", twice / 2, twice % 2 == 0 ? 0 : 5);
  }
  const bool down = find.what == Find::What::largest;
  std::int64_t value = down ? 99 : 0;
  for (int left = find.rank;; value += down ? -1 : 1) {
    if (tally[static_cast<std::size_t>(value)] > 0 && --left == 0) return std::to_string(value);
  }
}

}  // namespace

Forms frequent_words(const Brief& brief) {
  // As many coded words as RULER has: one per 50 tokens, though the rarest come 0 times
  Random random = brief.random.fork("codes");
  std::vector<std::string> codes = {"..."};  // the most frequent, which is not asked for
  const auto vocabulary = static_cast<std::size_t>(std::max<std::int64_t>(8, (brief.length - 50) / 50));
  while (codes.size() < std::min<std::size_t>(vocabulary, 64)) {
    std::string code = random_letters(random, 6);
    if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(std::move(code));
  }
  // Beyond the first few, equal words are as improbable as they are harmless
  while (codes.size() < vocabulary) codes.push_back(random_letters(random, 6));

  const auto draft = [codes, order = brief.random.fork("order")](Size size) {
    std::vector<std::uint32_t> text;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::int64_t count = zipf_count(kFewestCoded + size.words, static_cast<std::int64_t>(i) + 1);
      text.insert(text.end(), static_cast<std::size_t>(count), static_cast<std::uint32_t>(i));
    }
    Random(order).shuffle(std::span(text));
    Draft out{.prompt = "Read the coded text below and find the three words that come most often.\n",
              .answer_prefix = "Answer: In the coded text above the three most frequent words are:",
              .answer = fmt::format(" {}, {}, {}.", codes[1], codes[2], codes[3]),
              .references = {codes[1], codes[2], codes[3]}};
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (i > 0) out.prompt += ' ';
      out.prompt += codes[text[i]];
    }
    out.prompt +=
        "\nQuestion: Which three words come most often in the coded text above? Ignore the dots, explain nothing.\n";
    return out;
  };
  return std::vector{Form{.draft = draft}};
}

Forms math_find(const Brief& brief) {
  const Find& find = kFinds[static_cast<std::size_t>(brief.index) % kFinds.size()];
  // A list of thousands would have 99 as its largest always, and 49 or 50 as its median: let the ends vary
  Random ends = brief.random.fork("ends");
  std::int64_t low = 0, high = 99;
  switch (find.what) {
    case Find::What::largest: high = ends.between(79, 99); break;
    case Find::What::smallest: low = ends.between(0, 19); break;
    case Find::What::median:
      low = ends.between(0, 39);
      high = ends.between(60, 99);
      break;
  }
  const auto draft = [=, &find, numbers = brief.random.fork("numbers")](Size size) {
    Random random = numbers;
    Tally tally{};
    const std::string_view once = find.rank > 1 ? ", equal ones counted once" : "";
    Draft out{.prompt = fmt::format("Find the {} number in the list below{}.\n[", find.name, once)};
    const std::int64_t count = 9 + size.words;
    for (std::int64_t i = 0; i < count; ++i) {
      // The first three are of different thirds, so that there is a third largest
      const std::int64_t third = (high - low) / 3;
      const std::int64_t value = i < 3 ? low + third * i + random.between(0, third - 1) : random.between(low, high);
      ++tally[static_cast<std::size_t>(value)];
      fmt::format_to(std::back_inserter(out.prompt), "{}{}", i == 0 ? "" : ", ", value);
    }
    fmt::format_to(std::back_inserter(out.prompt), "]\nWhat is the {} number in the list above?\n", find.name);
    out.answer_prefix = fmt::format("The {} number in the list is", find.name);
    out.references = {found(find, tally, count)};
    out.answer = " " + out.references[0] + ".";
    return out;
  };
  return std::vector{Form{.draft = draft}};
}

}  // namespace mrrope::eval::drafts

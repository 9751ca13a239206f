// SPDX-License-Identifier: MIT
//
// RULER's variable tracking: a chain of assignments hidden in noise, VAR A = 12345, VAR B = VAR A, …; all that get the
// value are asked for. A solved example comes first where there is room.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/haystack.h"

namespace mrrope::eval::drafts {

namespace {

constexpr std::size_t kVariables = 5;  // four hops
constexpr std::int64_t kExampleWords = std::int64_t{12} * 19;

// Different names of `letters` capitals.
std::vector<std::string> variables(Random& random, int letters) {
  std::vector<std::string> names;
  while (names.size() < kVariables) {
    std::string name = random_letters(random, letters);
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

struct Chain {
  std::vector<std::string> names;
  std::string value;
  std::vector<double> depths = {};  // ascending: the order of the text is the order of the chain
};

Chain chain(Random random, int letters, std::vector<double> depths) {
  Chain out{.names = variables(random, letters), .value = std::to_string(random.between(10000, 99998))};
  std::sort(depths.begin(), depths.end());
  out.depths = std::move(depths);
  return out;
}

Draft tracked(const Chain& chain, std::int64_t words) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kVariables; ++i) {
    lines.push_back(i == 0 ? fmt::format("VAR {} = {}", chain.names[0], chain.value)
                           : fmt::format("VAR {} = VAR {}", chain.names[i], chain.names[i - 1]));
  }
  const Hidden hidden = hide(noise(words), Places::lines, lines, chain.depths);
  const std::string before =
      "Track the chain of variable assignments hidden in the text below, and memorize which variables get its "
      "value.\n\n";
  Draft out{
      .prompt = before + hidden.text +
                fmt::format("\nQuestion: Which variables are assigned the value {} in the text above?\n", chain.value),
      .answer_prefix = fmt::format("Answer: By the chain of assignments in the text above, {} variables are "
                                   "assigned the value {}, they are:",
                                   kVariables, chain.value),
      .answer = fmt::format(" {}", fmt::join(chain.names, " ")),
      .references = chain.names};
  for (const Range& r : hidden.needles) out.needles.push_back({before.size() + r.begin, before.size() + r.end});
  return out;
}

}  // namespace

Forms variable_tracking(const Brief& brief) {
  const Chain asked = chain(brief.random.fork("chain"), 5, depths_of(brief, kVariables));
  const Chain solved = chain(brief.random.fork("example"), 3, {0.1, 0.3, 0.5, 0.7, 0.9});
  const auto plain = [asked](Size size) { return tracked(asked, size.words); };
  const auto with_example = [asked, solved](Size size) {
    const Draft example = tracked(solved, kExampleWords);
    const std::string before = example.prompt + example.answer_prefix + example.answer + "\n\n";
    Draft out = tracked(asked, size.words);
    out.prompt.insert(0, before);
    for (Range& r : out.needles) r = {r.begin + before.size(), r.end + before.size()};
    return out;
  };
  return std::vector{Form{.draft = with_example, .share = 0.75}, Form{.draft = plain}};
}

}  // namespace mrrope::eval::drafts

// SPDX-License-Identifier: MIT
//
// Modarressi et al., NoLiMa (ICML 2025), showed that models which find a needle by the words it shares with the
// question fail where it shares none. Their sentences are not used here: facts, names and wording are our own. What is
// asked for is common knowledge of small models: where a famous sight stands, what a tool is for.
#include "tasks/implied.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

namespace mrrope::eval::drafts {

namespace {

// Unusual in English prose, and none is part of another.
constexpr auto kPeople = std::to_array<std::string_view>(
    {"Anouk",  "Bartek",  "Chidi",    "Daiki",   "Eskil",   "Fadwa",  "Gosia",  "Hamza",    "Ilmari",  "Jelka",
     "Kwame",  "Liesbet", "Miroslav", "Nkechi",  "Oksana",  "Paavo",  "Quirin", "Ragnhild", "Siobhan", "Tadeusz",
     "Ulrika", "Vasco",   "Wanjiru",  "Xiomara", "Yevgeny", "Zsofia", "Adaeze", "Bogdan",   "Catrin",  "Dragica"});

struct Fact {
  std::string_view clue, asked;
};

// Where somebody is, and the country of it.
constexpr auto kPlaces = std::to_array<Fact>({{"the Eiffel Tower", "France"},
                                              {"the Colosseum", "Italy"},
                                              {"the Brandenburg Gate", "Germany"},
                                              {"the Taj Mahal", "India"},
                                              {"the Forbidden City", "China"},
                                              {"Big Ben", "England"},
                                              {"the Alhambra", "Spain"},
                                              {"the Acropolis", "Greece"},
                                              {"the Kremlin", "Russia"},
                                              {"Machu Picchu", "Peru"},
                                              {"Sugarloaf Mountain", "Brazil"},
                                              {"the Great Sphinx", "Egypt"},
                                              {"the Sydney Opera House", "Australia"},
                                              {"Mount Fuji", "Japan"},
                                              {"Angkor Wat", "Cambodia"},
                                              {"the Hagia Sophia", "Turkey"},
                                              {"Loch Ness", "Scotland"},
                                              {"the Matterhorn", "Switzerland"},
                                              {"Tivoli Gardens", "Denmark"},
                                              {"Charles Bridge", "Prague"},
                                              {"Table Mountain", "South Africa"},
                                              {"the Petronas Towers", "Malaysia"},
                                              {"Chichen Itza", "Mexico"},
                                              {"the Golden Gate Bridge", "California"}});

// What somebody owns, and the trade it belongs with.
constexpr auto kTools = std::to_array<Fact>({{"a stethoscope", "medicine"},
                                             {"an anvil", "metalwork"},
                                             {"a telescope", "astronomy"},
                                             {"a loom", "weaving"},
                                             {"a kiln", "pottery"},
                                             {"a trowel and mortar", "bricklaying"},
                                             {"scissors, combs and a dryer", "hairdressing"},
                                             {"a veil and smoke for the hives", "beekeeping"},
                                             {"a flour sack and an oven glove", "baking"},
                                             {"a rod, hooks and bait", "fishing"},
                                             {"a plough and two oxen", "farming"},
                                             {"chalk and a blackboard", "teaching"}});

// {0}: the name, {1}: the clue. None has a word of the questions.
constexpr auto kAtPlaces = std::to_array<std::string_view>(
    {"{0} sells flowers beside {1}.", "From the kitchen window {0} looks out on {1}.",
     "On that bench below {1}, {0} fell asleep.", "{0} once repaired bicycles in front of {1}."});
constexpr auto kWithTools = std::to_array<std::string_view>(
    {"{0} never leaves home without {1}.", "All that {0} inherited was {1}.", "{0} paid far too much for {1}."});

struct Kind {
  std::span<const Fact> facts;
  std::span<const std::string_view> sentences;
  std::string_view question;
};
constexpr std::array kKinds = {Kind{kPlaces, kAtPlaces, "Who has been to {}?"},
                               Kind{kTools, kWithTools, "Whose work could be {}?"}};

std::string sentence(std::string_view form, std::string_view name, const Fact& fact) {
  return fmt::format(fmt::runtime(form), name, fact.clue);
}

// The first `count` of a shuffled list.
template <class T>
std::vector<T> drawn(Random& random, std::span<const T> from, std::size_t count) {
  std::vector<T> all(from.begin(), from.end());
  random.shuffle(std::span(all));
  all.resize(count);
  return all;
}

}  // namespace

Implied implied(Random& random, std::size_t count) {
  assert(count >= 1 && count <= 8);
  const Kind& kind = kKinds[random.below(kKinds.size())];
  const std::vector<Fact> facts = drawn(random, kind.facts, count);
  const std::vector<std::string_view> names = drawn(random, people(), count);
  Implied out{.question = fmt::format(fmt::runtime(kind.question), facts[0].asked), .sentences = {}, .names = {}};
  for (std::size_t i = 0; i < count; ++i) {
    out.sentences.push_back(sentence(kind.sentences[random.below(kind.sentences.size())], names[i], facts[i]));
    out.names.emplace_back(names[i]);
  }
  return out;
}

std::span<const std::string_view> people() { return kPeople; }

std::vector<Implied> every_fact() {
  std::vector<Implied> all;
  for (const Kind& kind : kKinds) {
    for (const Fact& fact : kind.facts) {
      Implied one{.question = fmt::format(fmt::runtime(kind.question), fact.asked), .sentences = {}, .names = {}};
      for (const std::string_view form : kind.sentences) one.sentences.push_back(sentence(form, "NAME", fact));
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace mrrope::eval::drafts

// SPDX-License-Identifier: MIT
//
// A few sentences hidden in much text: needle in a haystack, RULER's niah tasks whose haystack is prose or noise, and
// InfiniteBench's pass key and number string.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/haystack.h"
#include "tasks/implied.h"
#include "tasks/magic.h"

namespace mrrope::eval::drafts {

namespace {

enum class Hay { prose, noise };

// Everything of a sample but its length.
struct Story {
  Hay hay = Hay::prose;
  std::string instruction, question;  // each with its line break
  std::string prefix, answer = {};
  std::vector<std::string> references = {};
  std::vector<std::string> needles = {};  // those that hold the answer first
  std::vector<double> depths = {};
  std::size_t telling = 1;  // how many hold the answer
};

Forms told(const Brief& brief, const Story& story) {
  if (story.hay == Hay::prose) {
    if (const auto ok = check_haystack(brief.texts.haystack); !ok) return ok.error();
  }
  const auto draft = [&texts = brief.texts, story](Size size) {
    const bool in_prose = story.hay == Hay::prose;
    const std::string haystack = in_prose ? prose(texts.haystack, size.words) : noise(size.words);
    const Hidden hidden = hide(haystack, in_prose ? Places::sentences : Places::lines, story.needles, story.depths);
    Draft out{.prompt = story.instruction + hidden.text + "\n" + story.question,
              .answer_prefix = story.prefix,
              .answer = story.answer,
              .references = story.references};
    for (std::size_t i = 0; i < story.telling; ++i) {
      const std::size_t shift = story.instruction.size();
      out.needles.push_back({hidden.needles[i].begin + shift, hidden.needles[i].end + shift});
    }
    return out;
  };
  return std::vector{Form{.draft = draft}};
}

// RULER's family: `keys` keys with `values` values each, of which the first `asked` keys are asked for.
struct Family {
  Hay hay = Hay::prose;
  MagicType value = MagicType::numbers;
  std::size_t keys = 1, values = 1, asked = 1;
};

Forms magic(const Brief& brief, const Family& family) {
  Random random = brief.random.fork("needles");
  std::vector<std::string> keys;
  while (keys.size() < family.keys) {
    std::string key = random_pair(random);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  }
  const std::vector<std::string> asked(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(family.asked));
  const MagicWords words = magic_words(family.value, asked, family.asked * family.values);

  Story story{.hay = family.hay, .instruction = words.instruction, .question = words.question, .prefix = words.prefix};
  story.telling = family.asked * family.values;
  for (const std::string& key : keys) {
    for (std::size_t v = 0; v < family.values; ++v) {
      const std::string value = magic_value(random, family.value);
      story.needles.push_back(magic_needle(family.value, key, value));
      if (story.references.size() < story.telling) story.references.push_back(value);
    }
  }
  story.answer = " " + fmt::format("{}", fmt::join(story.references, ", ")) + ".";

  // The needles that are not asked for fall where they like; those that are, by the depth
  story.depths = depths_of(brief, story.telling);
  Random places = brief.random.fork("distractors");
  while (story.depths.size() < story.needles.size()) story.depths.push_back(places.fraction());
  // Which of the answers comes first in the text is chance too
  brief.random.fork("order").shuffle(std::span(story.depths).first(story.telling));
  return told(brief, story);
}

// The first may be 0, unlike random_digits'.
std::string five_digits(Random& random) {
  std::string digits;
  for (int i = 0; i < 5; ++i) digits += static_cast<char>('0' + random.below(10));
  return digits;
}

Forms spoken_key(const Brief& brief, std::string_view name, const std::string& key) {
  return told(brief, {.hay = Hay::noise,
                      .instruction = fmt::format("A {} is hidden in the text below. Find it and remember it.\n", name),
                      .question = fmt::format("What is the {}?\n", name),
                      .prefix = fmt::format("The {} is", name),
                      .answer = " " + key + ".",
                      .references = {key},
                      .needles = {fmt::format("The {0} is {1}. Remember it. {1} is the {0}.", name, key)},
                      .depths = {brief.depth}});
}

}  // namespace

std::vector<double> depths_of(const Brief& brief, std::size_t count) {
  std::vector<double> depths = {brief.depth};
  Random random = brief.random.fork("depths");
  for (std::size_t i = 1; i < count; ++i) {
    const double even = brief.depth + (1 - brief.depth) * static_cast<double>(i) / static_cast<double>(count);
    depths.push_back(brief.depth_given ? even : random.fraction());
  }
  return depths;
}

Forms niah(const Brief& brief) { return magic(brief, {}); }

// The sentence of Kamradt's test, for which there are many published numbers; scored on what follows "is".
Forms niah_text(const Brief& brief) {
  const std::string subject = "best thing to do in San Francisco is";
  const std::string answer = "eat a sandwich and sit in Dolores Park on a sunny day";
  return told(brief, {.instruction = "Read the long text below, then answer the question that follows it.\n",
                      .question = "Question: What is the best thing to do in San Francisco?\n",
                      .prefix = "Answer: The " + subject,
                      .answer = " " + answer + ".",
                      .references = {answer},
                      .needles = {"The " + subject + " " + answer + "."},
                      .depths = {brief.depth}});
}

// Three others of the same kind stand around, so that who is named at all is no answer.
Forms niah_implied(const Brief& brief) {
  constexpr std::size_t kPeople = 4;
  Random random = brief.random.fork("needles");
  const Implied drawn = implied(random, kPeople);
  Story story{.instruction = "Read the long text below, then answer the question that follows it with a name.\n",
              .question = fmt::format("Question: {}\n", drawn.question),
              .prefix = "Answer:",
              .answer = " " + drawn.names[0] + ".",
              .references = {drawn.names[0]},
              .needles = drawn.sentences,
              .depths = {brief.depth}};
  Random places = brief.random.fork("distractors");
  while (story.depths.size() < kPeople) story.depths.push_back(places.fraction());
  return told(brief, story);
}

Forms niah_single_1(const Brief& brief) { return magic(brief, {.hay = Hay::noise}); }
Forms niah_single_2(const Brief& brief) { return magic(brief, {}); }
Forms niah_single_3(const Brief& brief) { return magic(brief, {.value = MagicType::uuids}); }
Forms niah_multikey_1(const Brief& brief) { return magic(brief, {.keys = 4}); }
Forms niah_multivalue(const Brief& brief) { return magic(brief, {.values = 4}); }
Forms niah_multiquery(const Brief& brief) { return magic(brief, {.keys = 4, .asked = 4}); }

Forms passkey(const Brief& brief) {
  Random random = brief.random.fork("key");
  return spoken_key(brief, "pass key", five_digits(random));
}

// Five digits, then five times one of them doubled: "1110035559". Copying runs of equal digits is what is tested.
Forms number_string(const Brief& brief) {
  Random random = brief.random.fork("key");
  std::string key = five_digits(random);
  while (key.size() < 10) {
    const std::size_t at = random.below(key.size());
    key.insert(at, 1, key[at]);
  }
  return spoken_key(brief, "sequence of digits", key);
}

}  // namespace mrrope::eval::drafts

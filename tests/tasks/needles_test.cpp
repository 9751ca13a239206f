// SPDX-License-Identifier: MIT
//
// Needles are where the record says, spread as they should be, in texts of any kind.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "tasks/implied.h"
#include "tests/tasks/support.h"

namespace mrrope::eval {
namespace {

using namespace tests;

constexpr const char* kOneNeedle[] = {"niah",          "niah_text",       "niah_single_1",   "niah_single_2",
                                      "niah_single_3", "niah_multikey_1", "niah_multikey_2", "niah_multikey_3",
                                      "passkey",       "number_string",   "kv_retrieval",    "niah_implied"};
constexpr const char* kSeveral[] = {"niah_multivalue", "niah_multiquery", "vt"};
constexpr const char* kInProse[] = {"niah",
                                    "niah_text",
                                    "niah_single_2",
                                    "niah_single_3",
                                    "niah_multikey_1",
                                    "niah_multivalue",
                                    "niah_multiquery",
                                    "niah_implied"};

Sample made(const char* name, const SampleRequest& request, const TokenCount& count = count_pieces,
            const TaskTexts& texts = made_texts()) {
  Result<Sample> sample = make_sample(*find_task(name), texts, request, count);
  EXPECT_TRUE(sample) << name << ": " << to_string(sample.error());
  return sample ? *std::move(sample) : Sample{};
}

TEST(TasksNeedles, TheNeedleIsWhereTheRecordSaysAndHoldsTheReference) {
  for (const char* name : kOneNeedle) {
    for (std::int64_t index = 0; index < 20; ++index) {
      const Sample sample = made(name, {.length = 2048, .index = index});
      ASSERT_EQ(sample.needles.size(), 1U) << name;
      const Needle& needle = sample.needles[0];
      EXPECT_NE(text_of(sample, needle).find(sample.references[0]), std::string_view::npos) << name;
      const auto before = count_pieces(std::string_view(sample.prompt).substr(0, needle.begin));
      EXPECT_LE(std::abs(needle.token - *before), 1) << name;
      EXPECT_DOUBLE_EQ(sample.depth, static_cast<double>(needle.token) / static_cast<double>(sample.prompt_tokens));
    }
  }
}

TEST(TasksNeedles, EachOfSeveralReferencesIsInItsOwnNeedle) {
  for (const char* name : kSeveral) {
    for (std::int64_t index = 0; index < 20; ++index) {
      const Sample sample = made(name, {.length = 2048, .index = index});
      ASSERT_EQ(sample.needles.size(), sample.references.size()) << name;
      std::set<std::size_t> begins;
      for (const std::string& reference : sample.references) {
        const auto needle = std::find_if(sample.needles.begin(), sample.needles.end(), [&](const Needle& n) {
          return text_of(sample, n).find(reference) != std::string_view::npos;
        });
        ASSERT_NE(needle, sample.needles.end()) << name << " " << reference;
        begins.insert(needle->begin);
        const auto before = count_pieces(std::string_view(sample.prompt).substr(0, needle->begin));
        EXPECT_LE(std::abs(needle->token - *before), static_cast<std::int64_t>(sample.needles.size()));
      }
      EXPECT_EQ(begins.size(), sample.needles.size());
      EXPECT_TRUE(std::is_sorted(sample.needles.begin(), sample.needles.end(),
                                 [](const Needle& a, const Needle& b) { return a.begin < b.begin; }));
    }
  }
}

// So that samples share what is before their needles in a cache of keys and values.
TEST(TasksNeedles, ProseBeginsAlikeInAllSamplesAndLengths) {
  for (const char* name : kInProse) {
    const Sample longest = made(name, {.length = 8192, .index = 0, .depth = 1});
    for (std::int64_t index = 0; index < 10; ++index) {
      const Sample sample = made(name, {.length = index < 5 ? 2048 : 8192, .index = index, .depth = 0.5});
      std::size_t same = 0;
      while (same < sample.prompt.size() && sample.prompt[same] == longest.prompt[same]) ++same;
      // These also have needles that nobody asks for, and they fall where they like
      if (std::string_view(name) == "niah_multikey_1" || std::string_view(name) == "niah_implied") continue;
      EXPECT_GE(same, sample.needles[0].begin) << name;
    }
  }
}

TEST(TasksNeedles, WithoutItsNeedleTheContextIsTheHaystack) {
  std::string line = made_texts().haystack;
  for (std::size_t at = 0; (at = line.find("\n\n", at)) != std::string::npos;) line.replace(at, 2, " ");
  for (std::int64_t index = 0; index < 30; ++index) {
    const Sample sample = made("niah", {.length = 2048, .index = index});
    std::string rest = sample.prompt;
    const Needle& needle = sample.needles[0];
    rest.erase(needle.begin, needle.end - needle.begin + (rest[needle.end] == ' ' ? 1 : 0));
    const std::size_t from = rest.find('\n') + 1;
    std::string context = rest.substr(from, rest.find('\n', from) - from);
    if (!context.empty() && context.back() == ' ') context.pop_back();
    EXPECT_EQ(context, line.substr(0, context.size()));
    // Before a sentence, or at the end
    const std::size_t begin = needle.begin - from;
    EXPECT_TRUE(begin == 0 || begin > context.size() || line.substr(begin - 2, 2) == ". " ||
                line.substr(begin - 2, 2) == "? ")
        << line.substr(begin - 10, 10);
  }
}

TEST(TasksNeedles, AGivenDepthIsKept) {
  for (const char* name : kOneNeedle) {
    for (const double depth : {0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0}) {
      for (const std::int64_t length : {8192, 32'768}) {
        const Sample sample = made(name, {.length = length, .index = 3, .depth = depth});
        // Instruction and question are part of the prompt, not of the context: 2 % of 8k
        EXPECT_NEAR(sample.depth, depth, length == 8192 ? 0.03 : 0.01) << name;
      }
    }
  }
  for (const char* name : kSeveral) {
    const Sample sample = made(name, {.length = 32'768, .depth = 0.4});
    const auto count = static_cast<double>(sample.needles.size());
    for (std::size_t i = 0; i < sample.needles.size(); ++i) {
      const double depth = static_cast<double>(sample.needles[i].token) / static_cast<double>(sample.prompt_tokens);
      EXPECT_NEAR(depth, 0.4 + 0.6 * static_cast<double>(i) / count, 0.02) << name;
    }
  }
  EXPECT_EQ(make_sample(*find_task("niah"), made_texts(), {.depth = 1.5}, count_pieces).error().option, "depth");
  EXPECT_EQ(make_sample(*find_task("niah"), made_texts(), {.depth = NAN}, count_pieces).error().option, "depth");
}

// Generators with a fixed seed inside put needles at the same few places in all samples.
TEST(TasksNeedles, DepthsAreSpreadEvenlyOverAnyStretchOfIndices) {
  for (const char* name : kOneNeedle) {
    for (const std::int64_t first : {0, 17}) {
      for (const std::int64_t count : {6, 60}) {
        int terciles[3] = {};
        for (std::int64_t i = 0; i < count; ++i) {
          const Sample sample = made(name, {.length = 6000, .index = first + i});
          ++terciles[std::min(2, static_cast<int>(sample.depth * 3))];
        }
        for (const int n : terciles) EXPECT_NEAR(n, static_cast<double>(count) / 3, count == 6 ? 1 : 3) << name;
      }
    }
  }
}

TEST(TasksNeedles, SamplesDifferAndTheSameOneHidesTheSameAtEveryLength) {
  for (const Task& task : tasks()) {
    if (!is_generated(task) || task.name == "niah_text") continue;
    std::set<std::vector<std::string>> references;
    for (std::int64_t index = 0; index < 10; ++index) {
      const std::string name(task.name);
      const Sample sample = made(name.c_str(), {.length = 2048, .index = index});
      references.insert(sample.references);
      EXPECT_EQ(made(name.c_str(), {.length = 2048, .index = index}).prompt, sample.prompt);
      EXPECT_NE(made(name.c_str(), {.length = 2048, .seed = 43, .index = index}).prompt, sample.prompt);
      if (task.name != "math_find") {
        EXPECT_EQ(made(name.c_str(), {.length = 3000, .index = index}).references, sample.references) << name;
      }
    }
    const bool few = task.name == "math_find" || task.name == "niah_implied";  // of 100 numbers, of 30 names
    EXPECT_GE(references.size(), few ? 6U : 10U) << task.name;
  }
}

// Lower-case words, at least of one letter.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : std::string(text) + ' ') {
    const char lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (lower >= 'a' && lower <= 'z') {
      word += lower;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

// The point of the task: what is asked shares no word with what answers it, "the" and "to" included.
TEST(TasksNeedles, AnImpliedAnswerSharesNoWordWithItsQuestion) {
  const auto common = [](std::string_view a, std::string_view b) {
    std::vector<std::string> both;
    const std::set<std::string> one = words_of(a), other = words_of(b);
    std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
    return both;
  };
  EXPECT_EQ(common("Who has been to France?", "To France, the"), (std::vector<std::string>{"france", "to"}));
  std::set<std::string> questions;
  for (const drafts::Implied& fact : drafts::every_fact()) {
    EXPECT_TRUE(questions.insert(fact.question).second) << fact.question << " has two answers";
    for (const std::string& sentence : fact.sentences) {
      EXPECT_EQ(common(fact.question, sentence), std::vector<std::string>()) << fact.question << " " << sentence;
    }
  }
  EXPECT_GE(questions.size(), 30U);
  for (std::int64_t index = 0; index < 100; ++index) {
    const Sample sample = made("niah_implied", {.length = 1024, .index = index});
    const std::size_t asked = sample.prompt.rfind("Question: ") + 10;
    EXPECT_TRUE(questions.contains(sample.prompt.substr(asked, sample.prompt.size() - asked - 1))) << sample.prompt;
    EXPECT_EQ(common(sample.prompt.substr(asked) + sample.answer_prefix, text_of(sample, sample.needles[0])),
              std::vector<std::string>());
  }
}

TEST(TasksNeedles, FourPeopleAreNamedAndOneIsTheAnswer) {
  const auto people = drafts::people();
  for (const std::string_view name : people) {
    const auto holds = [&](std::string_view other) { return other.find(name) != std::string_view::npos; };
    EXPECT_EQ(std::count_if(people.begin(), people.end(), holds), 1) << name;
  }
  for (std::int64_t index = 0; index < 20; ++index) {
    const Sample sample = made("niah_implied", {.length = 2048, .index = index});
    const auto named = [&](std::string_view name) { return sample.prompt.find(name) != std::string::npos; };
    EXPECT_EQ(std::count_if(people.begin(), people.end(), named), 4) << sample.prompt;
    EXPECT_TRUE(named(sample.references[0]));
  }
}

// No sentences, no spaces, not even text: the needle still goes where it should.
TEST(TasksNeedles, AnyHaystackWillDo) {
  std::string han;
  for (int i = 0; i < 3000; ++i) han += i % 3 == 0 ? "\xe5\xb1\xb1" : i % 3 == 1 ? "\xe6\xb0\xb4" : "\xe9\xa2\xa8";
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) bytes += static_cast<char>(i * 7919 % 256);
  std::string words;
  for (int i = 0; i < 200; ++i) words += "word\tother\r\n";
  for (const std::string& haystack : {han, bytes, words, std::string(50'000, 'a'), std::string(50'000, '\x80')}) {
    const TaskTexts texts{.haystack = haystack};
    for (const Tokenizer& tokenizer : kTokenizers) {
      for (const double depth : {0.0, 0.3, 0.5, 1.0}) {
        const Sample sample = made("niah", {.length = 4096, .depth = depth}, tokenizer.count, texts);
        EXPECT_NEAR(sample.depth, depth, 0.1);
        EXPECT_NE(text_of(sample, sample.needles[0]).find(sample.references[0]), std::string_view::npos);
        EXPECT_GE(sample.prompt_tokens, 4064 * 97 / 100) << tokenizer.name;
      }
    }
  }
  // Characters are not cut
  const Sample sample = made("niah", {.length = 4096, .depth = 0.4}, count_bytes, {.haystack = han});
  EXPECT_EQ((sample.needles[0].begin - sample.prompt.find('\n') - 2) % 3, 0U);
}

TEST(TasksNeedles, AShortHaystackIsRepeatedAndOneThatIsNoneIsAnErrorThatNamesItsFlag) {
  const TaskTexts brief{.haystack = made_prose(150)};
  const Sample sample = made("niah", {.length = 8192}, count_pieces, brief);
  EXPECT_GE(sample.prompt_tokens, 8192 * 97 / 100);
  for (const char* name : kInProse) {
    for (const std::string& haystack : {std::string(), std::string(" \n\t"), std::string("too few words")}) {
      const Result<Sample> none = make_sample(*find_task(name), {.haystack = haystack}, {}, count_pieces);
      ASSERT_FALSE(none) << name;
      EXPECT_EQ(none.error().option, "haystack");
    }
  }
}

}  // namespace
}  // namespace mrrope::eval

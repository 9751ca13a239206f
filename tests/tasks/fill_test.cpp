// SPDX-License-Identifier: MIT
//
// Prompts fill their budget and never exceed it, for every task, length and tokenizer, from few tokenisations.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/tasks/support.h"

namespace mrrope::eval {
namespace {

using namespace tests;

// Checks one sample; `least` is the part of the room that it has to fill.
void expect_filled(const Task& task, const Tokenizer& tokenizer, const SampleRequest& request, double least,
                   const TaskTexts& texts = made_texts()) {
  SCOPED_TRACE(std::string(task.name) + ", " + tokenizer.name + ", length " + std::to_string(request.length) +
               ", index " + std::to_string(request.index));
  std::int64_t bytes = 0;
  const auto counted = [&](std::string_view text) {
    bytes += static_cast<std::int64_t>(text.size());
    return tokenizer.count(text);
  };
  const Result<Sample> sample = make_sample(task, texts, request, counted);
  ASSERT_TRUE(sample) << to_string(sample.error());
  const std::string whole = sample->prompt + sample->answer_prefix;
  EXPECT_EQ(sample->prompt_tokens, *tokenizer.count(whole));
  EXPECT_GE(sample->max_new_tokens, task.max_new_tokens);
  const std::int64_t room = request.length - request.frame_tokens - sample->max_new_tokens;
  EXPECT_LE(sample->prompt_tokens, room);
  EXPECT_GE(static_cast<double>(sample->prompt_tokens), least * static_cast<double>(room));
  for (const Needle& needle : sample->needles) EXPECT_LE(needle.end, sample->prompt.size());
  // A prefix with a space at an end would be cut into other tokens than text is (docs/benchmarks.md)
  EXPECT_NE(sample->answer_prefix.front(), ' ');
  EXPECT_NE(sample->answer_prefix.back(), ' ');
  EXPECT_EQ(sample->prompt.back(), '\n');
  // Below that the search costs nothing. All but some 15 of 10,000 take less than 6.5 times the text
  if (request.length >= 32'768) {
    EXPECT_LE(static_cast<double>(bytes), 11 * static_cast<double>(whole.size()));
  }
}

TEST(TasksFill, EveryLengthIsFilledByEveryTaskWithEveryTokenizer) {
  for (const Task& task : tasks()) {
    if (!is_generated(task)) continue;
    for (const Tokenizer& tokenizer : kTokenizers) {
      for (const std::int64_t length : {1024, 1500, 2048, 4096, 8192, 10'000, 16'384, 32'768, 65'536, 131'072}) {
        for (std::int64_t index = 0; index < (length <= 4096 ? 10 : 2); ++index) {
          expect_filled(task, tokenizer, {.length = length, .index = index, .frame_tokens = 17}, 0.97);
        }
      }
    }
  }
}

// From 1k to 128k, as many in each octave. A tenth of them without optimisation, where ten thousand take minutes.
TEST(TasksFill, TenThousandSamplesOfRandomLengthsFit) {
#ifdef NDEBUG
  constexpr std::int64_t kSamples = 10'000;
#else
  constexpr std::int64_t kSamples = 1'000;
#endif
  unsigned state = 7;
  std::int64_t made = 0;
  for (std::int64_t index = 0; made < kSamples; ++index) {
    for (const Task& task : tasks()) {
      if (!is_generated(task)) continue;
      state = state * 1664525U + 1013904223U;
      const double octaves = 7.0 * ((state >> 8) & 0xFFFF) / 0xFFFF;
      const auto length = static_cast<std::int64_t>(1024 * std::exp2(octaves));
      expect_filled(task, kTokenizers[state >> 31], {.length = length, .index = index}, 0.97);
      if (HasFailure()) return;
      ++made;
    }
  }
}

// What a model of bytes can be given where a token is a byte.
TEST(TasksFill, FiveHundredBytesAreEnoughForANeedle) {
  for (const char* name : {"niah", "niah_single_1", "niah_single_2", "niah_single_3", "passkey", "number_string",
                           "kv_retrieval", "math_find"}) {
    for (std::int64_t index = 0; index < 50; ++index) {
      expect_filled(*find_task(name), kTokenizers[0], {.length = 512, .index = index}, 0.94);
    }
  }
}

// RULER's own generator never ends there (lm-evaluation-harness issue 2963).
TEST(TasksFill, ALengthThatIsTooSmallIsAnErrorThatSaysWhatIsNeeded) {
  for (const Task& task : tasks()) {
    if (!is_generated(task)) continue;
    for (const std::int64_t length : {1, 16, 64, 100}) {
      const Result<Sample> sample = make_sample(task, made_texts(), {.length = length}, count_bytes);
      ASSERT_FALSE(sample) << task.name;
      EXPECT_EQ(sample.error().code, ErrorCode::too_long);
      EXPECT_EQ(sample.error().option, "lengths");
      EXPECT_NE(sample.error().message.find(std::to_string(length)), std::string::npos) << sample.error().message;
    }
  }
  const Task& niah = *find_task("niah");
  EXPECT_EQ(make_sample(niah, made_texts(), {.length = 0}, count_bytes).error().option, "lengths");
  EXPECT_EQ(make_sample(niah, made_texts(), {.length = std::int64_t{1} << 60}, count_bytes).error().option, "lengths");
  EXPECT_EQ(make_sample(niah, made_texts(), {.length = 512, .frame_tokens = 500}, count_bytes).error().option,
            "lengths");
}

TEST(TasksFill, NoTokenizerMakesItHang) {
  std::int64_t calls = 0;
  const TokenCount strange[] = {
      [&](std::string_view) { return ++calls, 0; },
      [&](std::string_view) { return ++calls, -5; },
      [&](std::string_view) { return ++calls, std::int64_t{1} << 40; },
      [&](std::string_view text) { return ++calls, static_cast<std::int64_t>(text.size() * 7919 % 5000); },
      [&](std::string_view text) { return ++calls, static_cast<std::int64_t>(text.size() < 4000 ? 10 : 100'000); },
      [&](std::string_view text) { return ++calls, 10'000 - static_cast<std::int64_t>(text.size()); },
  };
  for (const TokenCount& count : strange) {
    for (const Task& task : tasks()) {
      if (!is_generated(task)) continue;
      calls = 0;
      const Result<Sample> sample = make_sample(task, made_texts(), {.length = 3000}, count);
      if (sample) {
        EXPECT_LE(sample->prompt_tokens + sample->max_new_tokens, 3000) << task.name;
      }
      EXPECT_LE(calls, 100) << task.name;
    }
  }
}

TEST(TasksFill, AnErrorOfTheTokenizerIsPassedOn) {
  for (int good = 0; good < 5; ++good) {
    int calls = 0;
    const auto failing = [&](std::string_view text) -> Result<std::int64_t> {
      if (calls++ < good) return count_pieces(text);
      return Error{ErrorCode::io, "the server went away", ""};
    };
    const Result<Sample> sample = make_sample(*find_task("niah_multikey_3"), made_texts(), {.length = 4096}, failing);
    ASSERT_FALSE(sample);
    EXPECT_EQ(sample.error().message, "the server went away");
  }
}

// Bytes need more tokens for a perfect answer than RULER allows; others get exactly what RULER says.
TEST(TasksFill, TheAnswersBudgetHoldsAPerfectAnswer) {
  for (const Task& task : tasks()) {
    if (!is_generated(task)) continue;
    const Result<Sample> sample = make_sample(task, made_texts(), {.length = 4096}, count_pieces);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->max_new_tokens, task.max_new_tokens) << task.name;
  }
  const Result<Sample> chain = make_sample(*find_task("vt"), made_texts(), {.length = 4096}, count_bytes);
  ASSERT_TRUE(chain);
  EXPECT_GE(chain->max_new_tokens, 5 * 6);
  const Result<Sample> words = make_sample(*find_task("cwe"), made_texts(), {.length = 65'536}, count_bytes);
  ASSERT_TRUE(words);
  std::size_t letters = 0;
  for (const std::string& word : words->references) letters += word.size() + 4;
  EXPECT_GE(words->max_new_tokens, static_cast<int>(letters));
}

TEST(TasksFill, ANovelFillsEveryLength) {
  const char* data = std::getenv("MRROPE_DATA");
  std::ifstream file(std::string(data == nullptr ? "" : data) + "/novels/the-moonstone.md", std::ios::binary);
  if (!file) GTEST_SKIP() << "MRROPE_DATA names no folder with novels/the-moonstone.md";
  std::stringstream text;
  text << file.rdbuf();
  const TaskTexts texts{.haystack = text.str()};
  for (const Task& task : tasks()) {
    if (task.needs != TaskNeeds::haystack) continue;
    for (const Tokenizer& tokenizer : kTokenizers) {
      for (const std::int64_t length : {1024, 4096, 32'768, 131'072}) {
        for (std::int64_t index = 0; index < 5; ++index) {
          expect_filled(task, tokenizer, {.length = length, .index = index}, 0.98, texts);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mrrope::eval

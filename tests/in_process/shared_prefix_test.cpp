// SPDX-License-Identifier: MIT
#include "in_process/shared_prefix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "mrrope/model_file.h"

namespace mrrope::eval {
namespace {

using Prompt = std::vector<Token>;

// Nodes of the tree of all prefixes: what has to be computed at least.
std::size_t tree_size(const std::vector<Prompt>& prompts) {
  std::set<Prompt> prefixes;
  for (const Prompt& p : prompts) {
    for (std::size_t n = 1; n <= p.size(); ++n)
      prefixes.insert(Prompt(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(n)));
  }
  return prefixes.size();
}

// What one cache computes that is cut back to where the next prompt differs.
std::size_t computed_in(const std::vector<std::size_t>& order, const std::vector<Prompt>& prompts) {
  std::size_t computed = 0;
  Prompt cached;
  for (const std::size_t i : order) {
    const auto differ = std::mismatch(cached.begin(), cached.end(), prompts[i].begin(), prompts[i].end());
    computed += static_cast<std::size_t>(prompts[i].end() - differ.second);
    cached = prompts[i];
  }
  return computed;
}

TEST(SharingOrder, ComputesEveryTokenOfTheTreeOfPrefixesOnce) {
  // Needles at five depths in a haystack of three lengths
  std::vector<Prompt> prompts;
  for (const int length : {40, 80, 120}) {
    for (int depth = 0; depth < 5; ++depth) {
      Prompt p(static_cast<std::size_t>(length));
      std::iota(p.begin(), p.end(), 0);
      p.insert(p.begin() + depth * length / 5, {1000 + depth, 2000 + length});
      p.push_back(3000);
      prompts.push_back(p);
    }
  }
  EXPECT_EQ(computed_in(sharing_order(prompts), prompts), tree_size(prompts));
}

// -ln softmax, as it stands in books.
double slow_nll(std::span<const float> row, Token token) {
  long double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<long double>(logit));
  return static_cast<double>(std::log(sum) - static_cast<long double>(row[static_cast<std::size_t>(token)]));
}

class PrefixCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<LlamaModel> loaded = LlamaModel::load(MRROPE_TESTS "/models/tiny-512.gguf");
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    model.emplace(*std::move(loaded));
    Result<LlamaContext> made = LlamaContext::create(*model, {.ctx_size = 2048, .ubatch_size = 128, .threads = 2});
    ASSERT_TRUE(made) << to_string(made.error());
    context.emplace(*std::move(made));
  }

  // Text of letters and spaces, different from `from` on.
  static Prompt prompt(std::size_t size, std::size_t from, int kind) {
    Prompt p = {256};
    for (std::size_t i = 1; i < size; ++i) {
      const std::size_t x = i * 2654435761U + (i >= from ? static_cast<std::size_t>(kind) * 7919 : 0);
      p.push_back(i % 6 == 5 ? ' ' : static_cast<Token>('a' + (x >> 7) % 26));
    }
    return p;
  }

  std::vector<Prompt> answers(const std::vector<Prompt>& prompts, bool share, std::int64_t* computed = nullptr,
                              const Ladder* ladder = nullptr) {
    context->use_file();
    std::vector<std::int64_t> rungs;
    if (ladder != nullptr) {
      EXPECT_TRUE(context->use(*ladder));
      for (const Rung& rung : ladder->rungs) rungs.push_back(rung.length);
    }
    PrefixCache cache(*model, *context, share, rungs);
    std::vector<Prompt> out;
    for (const Prompt& p : prompts) {
      const Result<Reply> reply = cache.answer(p, {.max_tokens = 24}, [](std::int64_t) { return true; });
      EXPECT_TRUE(reply) << to_string(reply.error());
      out.push_back(reply ? reply->tokens : Prompt());
    }
    if (computed != nullptr) *computed = cache.computed();
    return out;
  }

  std::optional<LlamaModel> model;
  std::optional<LlamaContext> context;
};

TEST_F(PrefixCacheTest, TheLikelihoodOfAContinuationIsThatOfTheTextReadAtOnce) {
  PrefixCache cache(*model, *context, true);
  Result<LlamaContext> other = LlamaContext::create(*model, {.ctx_size = 2048, .ubatch_size = 512, .threads = 2});
  ASSERT_TRUE(other) << to_string(other.error());
  for (const std::size_t size : {2UL, 63UL, 129UL, 300UL, 470UL}) {
    const Prompt p = prompt(size, 1, 3);
    ASSERT_TRUE(cache.answer(p, {.max_tokens = 8}, [](std::int64_t) { return true; }));
    // As the prompt goes on; and where a tokenizer joined its last token with the answer
    for (const std::size_t from : {size, size - 1}) {
      const Continuation continuation{.from = from, .tokens = {' ', 't', 'h', 'e'}};
      const Result<double> nll = cache.nll(p, continuation);
      ASSERT_TRUE(nll) << to_string(nll.error());
      Prompt whole(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(from));
      whole.insert(whole.end(), continuation.tokens.begin(), continuation.tokens.end());
      double expected = 0;
      other->clear();
      ASSERT_TRUE(other->decode(whole, {.logits_from = from - 1}, [&](std::size_t i, std::span<const float> row) {
        if (i + 1 < whole.size()) expected += slow_nll(row, whole[i + 1]);
      }));
      EXPECT_NEAR(*nll, expected, 4 * 0x1p-19) << size << " " << from;  // four rows of float32 logits below 16
    }
  }
}

TEST_F(PrefixCacheTest, AskingForLikelihoodsChangesNoAnswer) {
  std::vector<Prompt> prompts;
  for (const std::size_t from : {1UL, 64UL, 129UL, 255UL, 300UL, 449UL}) {
    prompts.push_back(prompt(470, from, static_cast<int>(from)));
  }
  const std::vector<Prompt> expected = answers(prompts, false);
  context->use_file();
  PrefixCache cache(*model, *context, true);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Result<Reply> reply = cache.answer(prompts[i], {.max_tokens = 24}, [](std::int64_t) { return true; });
    ASSERT_TRUE(reply) << to_string(reply.error());
    EXPECT_EQ(reply->tokens, expected[i]);
    ASSERT_TRUE(cache.nll(prompts[i], {.from = prompts[i].size() - i % 2, .tokens = {'a', 'b', 'c'}}));
  }
}

TEST_F(PrefixCacheTest, AnswersAreThoseOfPromptsComputedFromTheirStart) {
  std::vector<Prompt> prompts;
  for (const std::size_t from :
       std::initializer_list<std::size_t>{1, 63, 64, 65, 127, 128, 129, 200, 255, 300, 383, 384, 400, 449, 460}) {
    for (const std::size_t size : std::initializer_list<std::size_t>{470, 449, 512, 385}) {
      if (from < size) prompts.push_back(prompt(size, from, static_cast<int>(from)));
    }
  }
  prompts.push_back(prompts.back());  // the same once more
  std::int64_t shared = 0;
  std::int64_t alone = 0;
  EXPECT_EQ(answers(prompts, true, &shared), answers(prompts, false, &alone));
  EXPECT_LT(shared, alone * 3 / 4);
}

// A prefix that was turned and turned back would be rounded twice, and answers would depend on the order of prompts.
TEST_F(PrefixCacheTest, AnswersOfTextsThatClimbAreThoseOfPromptsComputedFromTheirStart) {
  const Result<ModelFile> file = read_model(MRROPE_TESTS "/models/tiny-512.gguf");
  ASSERT_TRUE(file);
  const Result<Ladder> ladder = climbing_ladder(*rope_spec(*file), 2048);
  ASSERT_TRUE(ladder);
  std::vector<Prompt> prompts;
  for (const std::size_t from : std::initializer_list<std::size_t>{200, 500, 600, 700}) {
    for (const std::size_t size : std::initializer_list<std::size_t>{400, 800, 900}) {
      if (from < size) prompts.push_back(prompt(size, from, static_cast<int>(from)));
    }
  }
  std::int64_t shared = 0;
  std::int64_t alone = 0;
  EXPECT_EQ(answers(prompts, true, &shared, &*ladder), answers(prompts, false, &alone, &*ladder));
  EXPECT_LT(shared, alone);
}

TEST_F(PrefixCacheTest, CancelledCallsLeaveNothingThatTheNextCouldMistake) {
  const Prompt first = prompt(470, 470, 0);
  const Prompt second = prompt(470, 300, 1);
  PrefixCache cache(*model, *context, true);
  const Result<Reply> cancelled = cache.answer(first, {.max_tokens = 8}, [](std::int64_t done) { return done == 0; });
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  const Result<Reply> reply = cache.answer(second, {.max_tokens = 24}, [](std::int64_t) { return true; });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->tokens, answers({second}, false).front());
}

}  // namespace
}  // namespace mrrope::eval

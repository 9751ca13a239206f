// SPDX-License-Identifier: MIT
//
// Appending, going back, stopping half-way, generating.
#include <chrono>

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Decode, GivesTheRowsAskedFor) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  ContextOptions options = one_thread();
  options.ubatch_size = 16;
  LlamaContext context = context_of(model, options);
  const std::vector<Token> tokens = random_tokens(model, 50);
  const std::vector<float> all = logits(context, tokens);
  const auto n_vocab = static_cast<std::size_t>(model.n_vocab());
  ASSERT_EQ(all.size(), 50 * n_vocab);
  for (const std::size_t from :
       {std::size_t{0}, std::size_t{15}, std::size_t{16}, std::size_t{40}, std::size_t{50}, DecodeOptions::kLast}) {
    context.clear();
    std::size_t next = from == DecodeOptions::kLast ? 49 : from;
    const auto done = context.decode(tokens, {.logits_from = from}, [&](std::size_t i, std::span<const float> row) {
      EXPECT_EQ(i, next++);
      const auto wanted = all.begin() + static_cast<std::ptrdiff_t>(i * n_vocab);
      // A single row of the output layer goes through another kernel: 128 products in another order, 2^-24 each.
      EXPECT_LT(distance({row.begin(), row.end()}, {wanted, wanted + model.n_vocab()}), 1e-5);
    });
    EXPECT_TRUE(done);
    EXPECT_EQ(next, 50U);
  }
  EXPECT_TRUE(context.decode({}));
  EXPECT_EQ(context.n_cached(), 50U);
}

TEST(Decode, RefusesWhatDoesNotFit) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model, one_thread(100));
  ASSERT_EQ(context.ctx_size(), 256U) << "rounded up";
  ASSERT_TRUE(context.decode(random_tokens(model, 250)));
  const auto full = context.decode(random_tokens(model, 7));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::too_long);
  const std::vector<Token> strange = {0, model.n_vocab()};
  const auto token = context.decode(strange);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().where, "tokens[1]");
  EXPECT_EQ(context.n_cached(), 250U);
  EXPECT_TRUE(context.decode(random_tokens(model, 6)));
}

// Bit-identical, because the same cells are filled by the same kernels in the same batches: what was in later cells is
// masked, and 0 times any number adds nothing.
TEST(Truncate, ThenDecodeEqualsAStraightDecode) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"llama", "deepseek2", "gemma3"}) {
    const LlamaModel model = load(tiny(name));
    ContextOptions options = one_thread();
    options.swa_full = true;
    LlamaContext straight = context_of(model, options), back = context_of(model, options);
    const std::vector<Token> head = random_tokens(model, 40, 1), tail = random_tokens(model, 24, 2);
    logits(straight, head);
    const std::vector<float> wanted = logits(straight, tail);
    logits(back, head);
    logits(back, random_tokens(model, 100, 3));
    ASSERT_TRUE(back.truncate(40)) << name;
    EXPECT_EQ(back.n_cached(), 40U);
    EXPECT_EQ(logits(back, tail), wanted) << name;
  }
}

TEST(Truncate, IsRefusedWhereTheCacheCannotGoBack) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel recurrent = load(tiny("qwen3next"));
  EXPECT_FALSE(recurrent.can_truncate());
  LlamaContext context = context_of(recurrent);
  const std::vector<Token> tokens = random_tokens(recurrent, 20);
  const std::vector<float> wanted = logits(context, tokens);
  const auto done = context.truncate(10);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::unsupported);
  EXPECT_EQ(context.n_cached(), 20U);
  EXPECT_TRUE(context.truncate(0));
  EXPECT_EQ(logits(context, tokens), wanted);

  const LlamaModel sliding = load(tiny("gemma3"));  // its window is far less than 1500 tokens
  ContextOptions options = one_thread(2048);
  options.ubatch_size = 64;
  LlamaContext windowed = context_of(sliding, options);
  ASSERT_TRUE(windowed.decode(random_tokens(sliding, 1500)));
  const auto forgotten = windowed.truncate(100);
  ASSERT_FALSE(forgotten);
  EXPECT_EQ(forgotten.error().code, ErrorCode::unsupported);
  EXPECT_EQ(windowed.n_cached(), 1500U);
  EXPECT_TRUE(windowed.truncate(1499)) << "one step back is within the window";
}

// One ubatch, so that only a graph that is interrupted can end early.
TEST(Cancel, StopsInTheMiddleOfAGraph) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  ContextOptions options = one_thread(4096);
  options.ubatch_size = 4096;
  LlamaContext context = context_of(model, options), other = context_of(model, options);
  const std::vector<Token> head = random_tokens(model, 10, 1), tokens = random_tokens(model, 4000, 2);
  logits(other, head);
  const auto start = Clock::now();
  ASSERT_TRUE(other.decode(tokens));
  const auto whole = Clock::now() - start;

  logits(context, head);
  const auto done = decode_and_cancel(context, tokens, whole / 10);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  EXPECT_EQ(context.n_cached(), 10U);

  // As if nothing had been
  const std::vector<Token> tail = random_tokens(model, 20, 3);
  ASSERT_TRUE(other.truncate(10));
  EXPECT_EQ(logits(context, tail), logits(other, tail));
}

TEST(Cancel, BetweenUbatchesRollsBackTheWholeCall) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"llama", "qwen3next"}) {  // the second cannot go back, and starts again
    const LlamaModel model = load(tiny(name));
    ContextOptions options = one_thread();
    options.ubatch_size = 8;
    LlamaContext context = context_of(model, options);
    const std::vector<Token> head = random_tokens(model, 8, 1), tokens = random_tokens(model, 40, 2);
    logits(context, head);
    const auto done = context.decode(tokens, {.logits_from = 10},
                                     [&](std::size_t, std::span<const float>) { context.request_cancel(); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
    EXPECT_EQ(context.n_cached(), model.can_truncate() ? 8U : 0U);
    context.clear();
    LlamaContext fresh = context_of(model, options);
    EXPECT_EQ(logits(context, tokens), logits(fresh, tokens)) << name;
  }
}

TEST(Decode, IsTakenBackIfTheSinkThrows) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model), fresh = context_of(model);
  const std::vector<Token> head = random_tokens(model, 8, 1), tokens = random_tokens(model, 12, 2);
  logits(context, head);
  logits(fresh, head);
  const LogitsSink broken = [](std::size_t, std::span<const float>) { throw std::bad_alloc(); };
  EXPECT_THROW((void)context.decode(tokens, {}, broken), std::bad_alloc);
  EXPECT_EQ(context.n_cached(), 8U);
  EXPECT_EQ(logits(context, tokens), logits(fresh, tokens));
}

TEST(Cancel, AskedForBeforehandEndsTheNextCall) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, 4);
  context.request_cancel();
  const Result<std::vector<Token>> none = context.generate_greedy(tokens);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::cancelled);
  EXPECT_STREQ(to_string(none.error().code), "cancelled");
  EXPECT_TRUE(context.generate_greedy(tokens, {.max_tokens = 2})) << "once";
}

TEST(Generate, TakesTheMostLikelyToken) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model), checked = context_of(model);
  const std::vector<Token> prompt = random_tokens(model, 12);
  std::vector<Token> seen;
  const Result<std::vector<Token>> text = context.generate_greedy(prompt, {.max_tokens = 16, .on_token = [&](Token t) {
                                                                             seen.push_back(t);
                                                                             return true;
                                                                           }});
  ASSERT_TRUE(text);
  ASSERT_FALSE(text->empty());
  EXPECT_EQ(seen, *text);
  EXPECT_EQ(context.n_cached(), prompt.size() + text->size() - 1);

  std::vector<Token> input = prompt;
  for (const Token t : *text) {
    Token best = -1;
    const auto done = checked.decode(input, {}, [&](std::size_t, std::span<const float> row) {
      best = static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
    });
    ASSERT_TRUE(done);
    EXPECT_EQ(best, t);
    input = {t};
  }

  context.clear();
  const Result<std::vector<Token>> shorter = context.generate_greedy(prompt, {.max_tokens = 16, .stop = {(*text)[0]}});
  ASSERT_TRUE(shorter);
  EXPECT_TRUE(shorter->empty());
}

TEST(Generate, ContinuesATextItWasTrainedOn) {
  if (!fs::exists(trained_model())) GTEST_SKIP() << "no tiny-512.gguf; set MRROPE_TINY_512";
  const LlamaModel model = load(trained_model().string());
  LlamaContext context = context_of(model);
  const Result<std::vector<Token>> prompt = model.tokenize("It was the best of times, it was the wor");
  ASSERT_TRUE(prompt);
  const Result<std::vector<Token>> tokens = context.generate_greedy(*prompt, {.max_tokens = 12});
  ASSERT_TRUE(tokens);
  const Result<std::string> text = model.detokenize(*tokens);
  ASSERT_TRUE(text);
  EXPECT_TRUE(std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c <= '~'; })) << *text;
  EXPECT_NE(text->find(' '), std::string::npos) << *text;
}

}  // namespace
}  // namespace mrrope::test

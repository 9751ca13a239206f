// SPDX-License-Identifier: MIT
//
// Positions the rotation sees, apart from the order of the sequence: against llama.cpp's own positions where it takes
// them, and against tables that amount to the same angles.
#include <llama-cpp.h>

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

constexpr std::size_t kTokens = 48;

// Logits by plain llama.cpp, nothing of ours: tokens in batches of `batch`, at llama.cpp's own positions.
std::vector<float> llama_logits(const std::string& path, const std::vector<Token>& tokens,
                                const std::vector<std::int32_t>& at, std::size_t batch) {
  const llama_model_ptr model(llama_model_load_from_file(path.c_str(), llama_model_default_params()));
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512;
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  const llama_context_ptr context(llama_init_from_model(model.get(), params));
  const auto n_vocab = static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())));
  std::vector<float> rows;
  for (std::size_t done = 0; done < tokens.size(); done += batch) {
    std::vector<Token> token(tokens.begin() + static_cast<std::ptrdiff_t>(done),
                             tokens.begin() + static_cast<std::ptrdiff_t>(done + batch));
    std::vector<std::int32_t> position(at.begin() + static_cast<std::ptrdiff_t>(done),
                                       at.begin() + static_cast<std::ptrdiff_t>(done + batch));
    std::vector<std::int8_t> wanted(batch, 1);
    const llama_batch b{
        static_cast<std::int32_t>(batch), token.data(), nullptr, position.data(), nullptr, nullptr, wanted.data()};
    if (llama_decode(context.get(), b) != 0) throw std::runtime_error("llama_decode");
    for (std::size_t i = 0; i < batch; ++i) {
      const float* row = llama_get_logits_ith(context.get(), static_cast<std::int32_t>(i));
      rows.insert(rows.end(), row, row + n_vocab);
    }
  }
  return rows;
}

TEST(Positions, OfTheSequenceChangeNothing) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"llama", "gemma3", "qwen2vl", "qwen3next"}) {
    const LlamaModel model = load(tiny(name));
    LlamaContext context = context_of(model);
    const std::vector<Token> tokens = random_tokens(model, kTokens);
    const std::vector<float> own = logits(context, tokens);
    context.clear();
    EXPECT_EQ(logits(context, tokens, positions(kTokens, 1)), own) << name;
    EXPECT_EQ(own, llama_logits(tiny(name), tokens, positions(kTokens, 1), kTokens)) << name;
  }
}

TEST(Positions, FromAnOffsetAreLlamaCppsOwn) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"llama", "qwen3", "deepseek2", "gemma3"}) {
    const LlamaModel model = load(tiny(name));
    const std::vector<Token> tokens = random_tokens(model, kTokens);
    for (const std::int32_t first : {100'000, kMaxPosition - static_cast<std::int32_t>(kTokens) + 1}) {
      LlamaContext context = context_of(model);
      EXPECT_EQ(logits(context, tokens, positions(kTokens, 1, first)),
                llama_logits(tiny(name), tokens, positions(kTokens, 1, first), kTokens))
          << name << " from " << first;
    }
  }
}

TEST(Positions, WithAGapAreLlamaCppsOwn) {
  MRROPE_NEED_TINY_MODELS();
  // Of text models llama.cpp wants consecutive positions; of vision models (M-RoPE) it takes gaps.
  for (const char* name : {"qwen2vl", "qwen3vl"}) {
    const LlamaModel model = load(tiny(name));
    const std::vector<Token> tokens = random_tokens(model, kTokens);
    std::vector<std::int32_t> at = positions(kTokens, 1);
    for (std::size_t i = kTokens / 2; i < kTokens; ++i) at[i] += 100'000;
    const std::vector<float> wanted = llama_logits(tiny(name), tokens, at, kTokens / 2);

    ContextOptions options = one_thread();
    options.ubatch_size = kTokens / 2;
    LlamaContext context = context_of(model, options);
    const std::vector<float> got = logits(context, tokens, at);
    EXPECT_EQ(got, wanted) << name;
    context.clear();
    EXPECT_NE(logits(context, tokens), wanted) << name << ": the gap must show";
  }
}

TEST(Positions, TwiceAsFarUnderHalfTheSpeedComputeTheSameBits) {
  MRROPE_NEED_TINY_MODELS();
  // (2p) theta / 2 = p theta exactly in float32: any position for any token, over several ubatches.
  const LlamaModel model = load(tiny("llama"));
  ContextOptions options = one_thread();
  options.ubatch_size = 7;
  LlamaContext context = context_of(model, options);
  const std::vector<Token> tokens = random_tokens(model, kTokens);
  const std::vector<float> own = logits(context, tokens);
  const Plan halved = plan_for(tiny("llama"), "linear", 2);
  use(context, halved);
  EXPECT_EQ(logits(context, tokens, positions(kTokens, 2)), own);
  context.clear();
  EXPECT_NE(logits(context, tokens), own);
}

TEST(Positions, GoOnFromTheLastToken) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, 20);
  const std::vector<Token> head(tokens.begin(), tokens.begin() + 10), tail(tokens.begin() + 10, tokens.end());
  logits(context, head, positions(10, 3));  // 0 … 27
  const std::vector<float> implied = logits(context, tail);
  ASSERT_TRUE(context.truncate(10));
  EXPECT_EQ(logits(context, tail, positions(10, 1, 28)), implied);
}

TEST(Positions, BeyondFloat32AreRefused) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, 2);
  const auto code = [&](std::vector<std::int32_t> at) {
    const auto decoded = context.decode(tokens, {.positions = at});
    return decoded ? std::nullopt : std::optional(decoded.error().code);
  };
  EXPECT_EQ(code({0, kMaxPosition + 1}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({-1, 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({0}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({kMaxPosition - 1, kMaxPosition}), std::nullopt);
  const auto next = context.decode(tokens);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(context.n_cached(), 2U);
}

TEST(Positions, AreRefusedWhereAnArchitectureHasItsOwn) {
  MRROPE_NEED_TINY_MODELS();
  if (!fs::exists(tiny("deepseek4"))) GTEST_SKIP() << "no deepseek4 among the tiny models";
  const LlamaModel model = load(tiny("deepseek4"));
  LlamaContext context = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, 32);
  const auto decoded = context.decode(tokens, {.positions = positions(32, 2)});
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::unsupported);
  EXPECT_EQ(context.n_cached(), 0U);
  EXPECT_TRUE(context.decode(tokens)) << "and the context goes on";
}

}  // namespace
}  // namespace mrrope::test

// SPDX-License-Identifier: MIT
//
// Queries and keys before their rotation.
#include <complex>

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

constexpr std::size_t kTokens = 300;
// ggml rounds the angle of the fastest pair, up to 300 radians, to float32 twice; F16 weights leave more than that only
// where the input differs, and that of the first layer does not.
constexpr float kRounding = 300.0F / (1 << 22);

float largest_difference(const std::vector<std::complex<float>>& a, const std::vector<std::complex<float>>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  float size = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  EXPECT_GT(size, 0);
  return largest / size;
}

// Both ways of pairing coordinates: neighbours (llama) and halves (qwen2; also with M-RoPE's sections, of which those
// of the tiny qwen3vl leave three pairs standing).
TEST(Vectors, OfTheFirstLayerDoNotDependOnTheRotation) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"llama", "qwen2", "qwen3", "qwen2vl", "qwen3vl"}) {
    SCOPED_TRACE(name);
    const LlamaModel model = load(tiny(name));
    LlamaContext context = context_of(model, one_thread(512, "off"));
    const std::vector<Token> tokens = random_tokens(model, kTokens);
    const std::vector<int> layers = {0, 1};
    const Result<std::vector<LayerVectors>> plain = context.read_vectors(tokens, layers);
    ASSERT_TRUE(plain) << to_string(plain.error());
    use(context, plan_for(tiny(name)));
    const Result<std::vector<LayerVectors>> planned = context.read_vectors(tokens, layers);
    ASSERT_TRUE(planned) << to_string(planned.error());

    const LayerVectors& a = (*plain)[0];
    EXPECT_EQ(a.layer, 0);
    EXPECT_EQ(a.queries.size(), kTokens * static_cast<std::size_t>(a.query_heads * a.pairs));
    EXPECT_EQ(a.keys.size(), kTokens * static_cast<std::size_t>(a.key_heads * a.pairs));
    EXPECT_LT(largest_difference(a.queries, (*planned)[0].queries), kRounding);
    EXPECT_LT(largest_difference(a.keys, (*planned)[0].keys), kRounding);
    EXPECT_GT(largest_difference((*plain)[1].queries, (*planned)[1].queries), 10 * kRounding) << "what follows does";
  }
}

TEST(Vectors, AreTheSameInOneUbatchAndInMany) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  ContextOptions small = one_thread(512, "off");
  small.ubatch_size = 32;
  LlamaContext many = context_of(model, small);
  LlamaContext one = context_of(model, one_thread(512, "off"));
  const std::vector<Token> tokens = random_tokens(model, kTokens);
  const std::vector<int> layers = {1};
  const auto a = many.read_vectors(tokens, layers);
  const auto b = one.read_vectors(tokens, layers);
  ASSERT_TRUE(a && b);
  EXPECT_LT(largest_difference((*a)[0].keys, (*b)[0].keys), 1e-3);
}

TEST(Vectors, LeaveTheContextAsItWas) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model, one_thread(512, "off"));
  const std::vector<Token> tokens = random_tokens(model, 40);
  const std::vector<float> before = logits(context, tokens);
  const std::vector<int> layers = {0};
  ASSERT_TRUE(context.read_vectors(tokens, layers));
  context.clear();
  EXPECT_EQ(logits(context, tokens), before);
}

TEST(Vectors, OfALayerThatIsNotThereAreRefused) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model, one_thread(512, "off"));
  const std::vector<int> layers = {99};
  const auto vectors = context.read_vectors(random_tokens(model, 8), layers);
  ASSERT_FALSE(vectors);
  EXPECT_EQ(vectors.error().option, "layers");
}

}  // namespace
}  // namespace mrrope::test

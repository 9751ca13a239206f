// SPDX-License-Identifier: MIT
//
// A plan injected into the running model is the plan written into its file, bit for bit.
#include <thread>

#include "tests/llama/support.h"

namespace mrrope::test {
namespace {

constexpr std::size_t kTokens = 48;

void expect_injected_equals_written(const std::string& path, const std::string& flash_attn) {
  const Plan plan = plan_for(path);
  const LlamaModel plain_model = load(path);
  const bool relabel = plain_model.architecture().starts_with("qwen");
  const EditedCopy baked(path, edits_for(path, plan, relabel));
  const LlamaModel baked_model = load(baked.path());
  LlamaContext injected = context_of(plain_model, one_thread(512, flash_attn));
  LlamaContext written = context_of(baked_model, one_thread(512, flash_attn));
  const std::vector<Token> tokens = random_tokens(plain_model, kTokens);
  const std::vector<std::int32_t> far = positions(kTokens, 37);

  const std::vector<float> without = logits(injected, tokens, far);
  use(injected, plan);
  const std::vector<float> with = logits(injected, tokens, far);
  EXPECT_EQ(with, logits(written, tokens, far));
  EXPECT_GT(distance(with, without), 1e-3) << "the plan must show";

  // Also where llama.cpp writes the positions itself
  injected.clear();
  written.clear();
  EXPECT_EQ(logits(injected, tokens), logits(written, tokens));
  injected.use_file();
  EXPECT_EQ(logits(injected, tokens, far), without) << "and without the plan all is as before";
}

class Injected : public testing::TestWithParam<const char*> {};

TEST_P(Injected, PlanComputesWhatTheExtendedFileComputes) {
  MRROPE_NEED_TINY_MODELS();
  for (const char* name : {"llama", "llama-rope-freqs", "llama-q8_0", "qwen2", "phi3-longrope"}) {
    SCOPED_TRACE(name);
    expect_injected_equals_written(tiny(name), GetParam());
  }
}

TEST_P(Injected, PlanComputesWhatTheRelabelledQwen3Computes) {
  MRROPE_NEED_TINY_MODELS();
  // qwen3vl is qwen3 with an output of its own, which the other name needs.
  GgufEdits edits;
  edits.architecture = "qwen3";
  const EditedCopy qwen3(tiny("qwen3vl"), edits);
  expect_injected_equals_written(qwen3.path(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(FlashAttention, Injected, testing::Values("on", "off"));

TEST(Plans, InTurnOnOneModelEqualFreshLoads) {
  MRROPE_NEED_TINY_MODELS();
  const std::string path = tiny("qwen3");
  const LlamaModel model = load(path);
  LlamaContext turns = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, kTokens);
  for (const char* method : {"mrrope-pro", "yarn", "none", "linear", "mrrope-pro"}) {
    const Plan plan = plan_for(path, method);
    use(turns, plan);
    const LlamaModel fresh_model = load(path);
    LlamaContext fresh = context_of(fresh_model);
    use(fresh, plan);
    EXPECT_EQ(logits(turns, tokens), logits(fresh, tokens)) << method;
    // One token at a time: these graphs are used again by llama.cpp, under the next plan too
    for (const Token t : tokens) EXPECT_EQ(logits(turns, {t}), logits(fresh, {t})) << method;
  }
}

TEST(Plans, OfTwoThreadsOnOneModelDoNotMeet) {
  MRROPE_NEED_TINY_MODELS();
  const std::string path = tiny("llama");
  const LlamaModel model = load(path);
  const std::vector<Token> tokens = random_tokens(model, kTokens);
  const auto run = [&](const char* method) {
    LlamaContext context = context_of(model);
    use(context, plan_for(path, method));
    std::vector<float> rows;
    for (int i = 0; i < 10; ++i) {
      context.clear();
      rows = logits(context, tokens);
    }
    return rows;
  };
  const std::vector<float> pro = run("mrrope-pro"), linear = run("linear");
  std::vector<float> pro_beside, linear_beside;
  std::thread other([&] { pro_beside = run("mrrope-pro"); });
  linear_beside = run("linear");
  other.join();
  EXPECT_EQ(pro_beside, pro);
  EXPECT_EQ(linear_beside, linear);
}

TEST(Plans, OfTheModelItselfChangeNothing) {
  MRROPE_NEED_TINY_MODELS();
  // Its own scaling is in pair_factors, and must not act twice: llama 3.1's tensor, gemma 3's linear factor.
  for (const char* name : {"llama", "llama-rope-freqs", "gemma3", "qwen2vl"}) {
    const LlamaModel model = load(tiny(name));
    LlamaContext context = context_of(model);
    const std::vector<Token> tokens = random_tokens(model, kTokens);
    const std::vector<float> own = logits(context, tokens);
    use(context, plan_for(tiny(name), "none"));
    EXPECT_EQ(logits(context, tokens), own) << name;
  }
}

TEST(Plans, OfMixedModelsLeaveSlidingLayersAlone) {
  MRROPE_NEED_TINY_MODELS();
  const std::string path = tiny("gemma3");
  const Plan plan = plan_for(path);
  ASSERT_EQ(plan.spec.groups.size(), 2U);
  const LlamaModel model = load(path);
  LlamaContext context = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, 8);
  logits(context, tokens);
  const std::vector<Rotation> before = context.rotation();
  use(context, plan);
  logits(context, tokens);
  const std::vector<Rotation> after = context.rotation();

  ASSERT_EQ(before.size(), 2U);
  ASSERT_EQ(after.size(), 2U);
  for (const Rotation& r : after) {
    const bool global = r.layers == plan.spec.groups[0].layers;
    const auto same = std::find(before.begin(), before.end(), r);
    EXPECT_EQ(same == before.end(), global);
  }
}

TEST(Plans, ForAnotherModelAreRefused) {
  MRROPE_NEED_TINY_MODELS();
  const LlamaModel model = load(tiny("llama"));
  LlamaContext context = context_of(model);
  const std::vector<Token> tokens = random_tokens(model, 4);
  const std::vector<float> own = logits(context, tokens);
  const auto refused = [&](const std::string& spec) {
    return context.use(*make_plan(*parse_spec(spec), 4096, Linear{}));
  };

  const auto dims = refused("dim=128,base=10000,ctx=512");
  ASSERT_FALSE(dims);
  EXPECT_EQ(dims.error().code, ErrorCode::inconsistent);
  EXPECT_EQ(dims.error().where, "spec.groups[0].rotary_dim");
  EXPECT_NE(dims.error().message.find("rotates 64 dimensions"), std::string::npos) << dims.error().message;
  const auto base = refused("dim=64,base=5000,ctx=512");
  ASSERT_FALSE(base);
  EXPECT_EQ(base.error().where, "spec.groups[0].base");

  Plan layers = plan_for(tiny("llama"));
  layers.spec.groups[0].layers = {0, 99};
  const auto done = context.use(layers);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().where, "spec.groups[0].layers");

  EXPECT_EQ(context.n_cached(), 4U) << "a refusal changes nothing";
  context.clear();
  EXPECT_EQ(logits(context, tokens), own);
}

}  // namespace
}  // namespace mrrope::test

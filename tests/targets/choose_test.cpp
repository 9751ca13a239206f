// SPDX-License-Identifier: MIT
//
// The plan that an engine runs: what was wanted if it does, else the nearest; and never one that deliver() refuses.
#include "mrrope/choose.h"

#include <gtest/gtest.h>

#include "tests/formats/gguf_builder.h"
#include "tests/support/gguf_models.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

ModelFile gguf(const std::string& architecture, const std::map<std::string, GgufValue>& more = {}) {
  return {"model.gguf", test::gguf_model(architecture, more)};
}

ModelFile config(const std::string& name) {
  return {name, *HfConfig::parse(test::read_bytes(MRROPE_TESTS "/formats/configs/" + name))};
}

Choice chosen(const ModelFile& model, std::int64_t context, std::string_view engine = {}) {
  const Result<Plan> wanted = recommend(model, context);
  EXPECT_TRUE(wanted) << to_string(wanted.error());
  Result<Choice> choice = choose(model, *wanted, engine);
  EXPECT_TRUE(choice) << to_string(choice.error());
  if (!choice) return {};
  EXPECT_TRUE(deliver(engine.empty() ? default_engine(model) : engine, choice->plan, model));
  return *std::move(choice);
}

TEST(Choose, TakesTheRecommendedPlanWhereTheEngineRunsIt) {
  const Choice choice = chosen(gguf("llama"), 32768);
  EXPECT_TRUE(choice.as_wanted());
  EXPECT_EQ(spell(choice.plan.method), "mrrope-pro");
  EXPECT_EQ(describe(choice), "");
}

TEST(Choose, TakesYarnWhereLlamaCppReadsKeysOnly) {
  for (const char* architecture : {"qwen2", "qwen3moe", "gemma2", "olmo2", "qwen2vl"}) {
    const Choice choice = chosen(gguf(architecture), 32768);
    EXPECT_EQ(choice.words, "yarn") << architecture;
    EXPECT_GT(choice.table, 0.01);
    EXPECT_LT(choice.table, 0.2);
    EXPECT_EQ(choice.scale, 0);
    EXPECT_NE(describe(choice).find("Nearest it runs: yarn, at most"), std::string::npos) << describe(choice);
  }
}

// The difference said is the one between the two tables, pair by pair.
TEST(Choose, SaysTheLargestDifferenceOfASpeed) {
  const Choice choice = chosen(gguf("qwen2"), 32768);
  double largest = 0;
  for (std::size_t i = 0; i < choice.plan.groups[0].inv_freq.size(); ++i) {
    const double a = choice.plan.groups[0].inv_freq[i];
    const double b = choice.wanted.groups[0].inv_freq[i];
    largest = std::max(largest, std::abs(a - b) / std::max(a, b));
  }
  EXPECT_DOUBLE_EQ(choice.table, largest);
}

TEST(Choose, IsNoFurtherThanAnyOtherMethodThatIsRun) {
  const ModelFile model = gguf("qwen2");
  const Choice choice = chosen(model, 65536);
  for (const char* name : {"yarn", "ntk", "linear", "yarn:attention_scale=1"}) {
    const Plan other = *make_plan(choice.wanted.spec, 65536, test::method(name));
    if (!deliver("llama.cpp", other, model)) continue;
    const GroupDifference off = group_difference(effective_groups(other)[0], effective_groups(choice.wanted)[0]);
    EXPECT_LE(std::max(choice.table, choice.scale), std::max(off.table, off.scale)) << name;
  }
}

TEST(Choose, ContinuesTheYarnThatAModelShips) {
  const ModelFile model = gguf("gpt-oss", {{"context_length", GgufValue::u32(131072)},
                                           {"rope.scaling.type", GgufValue::text("yarn")},
                                           {"rope.scaling.factor", GgufValue::f32(32)},
                                           {"rope.scaling.original_context_length", GgufValue::u32(4096)}});
  const Choice choice = chosen(model, 262144);
  EXPECT_EQ(choice.words, "one yarn, factor 64 from 4096");
  const ModelFile released = config("gpt-oss-20b.json");
  EXPECT_EQ(chosen(released, 262144, "vllm").words, "one yarn, factor 64 from 4096");
}

TEST(Choose, KeepsALinearScalingUnderAnotherBase) {
  const ModelFile model = gguf("gemma3", {{"context_length", GgufValue::u32(131072)},
                                          {"rope.freq_base", GgufValue::f32(1e6)},
                                          {"attention.sliding_window", GgufValue::u32(1024)},
                                          {"rope.scaling.type", GgufValue::text("linear")},
                                          {"rope.scaling.factor", GgufValue::f32(8)}});
  const Choice choice = chosen(model, 262144);
  EXPECT_TRUE(choice.words.starts_with("ntk")) << choice.words;
}

TEST(Choose, WritesTheLengthAloneWhereOnlyWindowsRotate) {
  const ModelFile command = gguf("cohere2", {{"attention.sliding_window", GgufValue::u32(4096)}});
  const Choice choice = chosen(command, 32768);
  EXPECT_TRUE(std::holds_alternative<None>(choice.plan.method.law));
  EXPECT_TRUE(describe(choice).starts_with("Only layers with a window of 4096 tokens rotate")) << describe(choice);

  const ModelFile hf{"config.json", *HfConfig::parse(R"({"model_type": "cohere2", "hidden_size": 4096,
      "num_attention_heads": 32, "num_hidden_layers": 8, "max_position_embeddings": 8192, "sliding_window": 4096,
      "rope_theta": 50000})")};
  const Choice by_config = chosen(hf, 32768);
  const Delivery delivery = *deliver(kUniversal, by_config.plan, hf);
  ASSERT_EQ(delivery.hf.size(), 1U);
  EXPECT_EQ(delivery.hf[0], (HfChange{"max_position_embeddings", "8192", "32768"}));
}

TEST(Choose, FindsTheNearestToAMethodThatWasAskedFor) {
  const ModelFile model = gguf("qwen2");
  const Plan wanted = *make_plan(*rope_spec(model), 32768, test::method("mrrope-uni"));
  EXPECT_EQ(choose(model, wanted)->words, "yarn");
}

TEST(Choose, RefusesWhatRunsNothing) {
  const ModelFile model = gguf("deepseek2-ocr");  // a fixed table
  EXPECT_EQ(choose(model, *recommend(model, 32768)).error().code, ErrorCode::unsupported);
  EXPECT_FALSE(choose(gguf("nobody"), *recommend(gguf("llama"), 32768)));
}

TEST(TrainedLength, IsWhatTheCallerSays) {
  ModelFile model = gguf("qwen3", {{"context_length", GgufValue::u32(40960)}});
  model.context_trained = 32768;
  EXPECT_EQ(rope_spec(model)->context_trained, 32768);
  const Plan plan = *make_plan(*rope_spec(model), 131072, test::method("yarn"));
  EXPECT_EQ(plan.factor, 4);
  model.context_trained = 3;
  EXPECT_EQ(rope_spec(model).error().where, "context_trained");
}

}  // namespace
}  // namespace mrrope

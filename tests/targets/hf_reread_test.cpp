// SPDX-License-Identifier: MIT
//
// What fell when the sources of engines that cannot be run here were read again: each test states what their code does.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mrrope/findings.h"
#include "mrrope/mrrope.h"

namespace mrrope {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kYarnScale = 1.1386294361119891;  // 0.1 ln 4 + 1

Json yarn() {
  return {{"rope_type", "yarn"},
          {"factor", 4.0},
          {"original_max_position_embeddings", 8192},
          {"beta_fast", 32.0},
          {"beta_slow", 1.0}};
}

Json longrope() {
  return {{"rope_type", "longrope"},
          {"short_factor", Json(std::vector<double>(64, 4.0))},
          {"long_factor", Json(std::vector<double>(64, 4.0))},
          {"factor", 4.0},
          {"original_max_position_embeddings", 3041},
          {"attention_factor", 1.1386},
          {"short_mscale", 1.1386},
          {"long_mscale", 1.1386}};
}

ModelFile model_of(const std::string& model_type, const Json& rope_scaling, const Json& more = Json::object()) {
  Json config{{"model_type", model_type},  {"hidden_size", 4096},
              {"num_attention_heads", 32}, {"num_key_value_heads", 8},
              {"head_dim", 128},           {"num_hidden_layers", 32},
              {"rope_theta", 10000.0},     {"max_position_embeddings", 32768}};
  if (model_type.starts_with("deepseek")) config["qk_rope_head_dim"] = 64;
  if (!rope_scaling.is_null()) config["rope_scaling"] = rope_scaling;
  config.update(more);
  return {"config.json", *HfConfig::parse(config.dump())};
}

Verdict verdict(std::string_view engine, const ModelFile& model) {
  const Result<Examination> found = examine(model, engine);
  EXPECT_TRUE(found) << (found ? "" : to_string(found.error()));
  return found->engines.front().verdict;
}

TEST(HfReread, TensorRtPassesOverYarnOnQwenAndRefusesTables) {
  for (const char* type : {"qwen2", "qwen3", "qwen3_moe"}) {
    EXPECT_EQ(verdict("tensorrt-llm", model_of(type, yarn())), Verdict::plain) << type;
    EXPECT_EQ(verdict("tensorrt-llm", model_of(type, longrope())), Verdict::no_load) << type;
    EXPECT_EQ(verdict("tensorrt-llm", model_of(type, nullptr)), Verdict::serves) << type;
  }
  EXPECT_EQ(verdict("tensorrt-llm", model_of("llama", longrope())), Verdict::serves);
  EXPECT_EQ(verdict("tensorrt-llm", model_of("llama", {{"rope_type", "dynamic"}, {"factor", 4.0}})), Verdict::no_load);
  EXPECT_EQ(verdict("tensorrt-llm", model_of("gemma3_text", nullptr)), Verdict::unchecked);
}

TEST(HfReread, MistralRsReadsYarnOfDeepSeekAndGptOss) {
  Json deepseek = yarn();
  deepseek.update({{"mscale", 1.0}, {"mscale_all_dim", 1.0}});
  EXPECT_EQ(verdict("mistral.rs", model_of("deepseek_v3", deepseek)), Verdict::no_load) << "it wants type";
  deepseek["type"] = "yarn";
  EXPECT_EQ(verdict("mistral.rs", model_of("deepseek_v3", deepseek)), Verdict::serves);
  EXPECT_EQ(verdict("mistral.rs", model_of("gpt_oss", yarn(), {{"head_dim", 64}})), Verdict::serves);
  EXPECT_EQ(verdict("mistral.rs", model_of("qwen3", yarn())), Verdict::plain);
  EXPECT_EQ(verdict("mistral.rs", model_of("falcon", nullptr)), Verdict::no_load);
}

TEST(HfReread, MistralRsReadsRopeParametersOnMistral) {
  Json inside = yarn();
  inside["rope_theta"] = 10000.0;
  EXPECT_EQ(verdict("mistral.rs", model_of("mistral", yarn())), Verdict::plain) << "rope_scaling is not read";
  EXPECT_EQ(verdict("mistral.rs", model_of("mistral", yarn(), {{"rope_parameters", inside}})), Verdict::serves);
  Json table = longrope();
  table["rope_theta"] = 10000.0;
  EXPECT_EQ(verdict("mistral.rs", model_of("mistral", longrope(), {{"rope_parameters", table}})), Verdict::no_load);
}

TEST(HfReread, CandleHasYarnForDeepSeekV2) {
  Json own = yarn();
  own.update({{"mscale", 1.0}, {"mscale_all_dim", 1.0}});
  own["type"] = "yarn";
  EXPECT_EQ(verdict("candle", model_of("deepseek_v2", own)), Verdict::serves);
  EXPECT_EQ(verdict("candle", model_of("qwen3", yarn())), Verdict::plain);
  EXPECT_EQ(verdict("candle", model_of("granite", yarn())), Verdict::no_load);
  EXPECT_EQ(verdict("candle", model_of("deepseek_v3", own)), Verdict::no_load);
}

TEST(HfReread, MlcRunsPhi3PlainWithoutTheKeyType) {
  const Json lists{{"short_factor", Json(std::vector<double>(64, 4.0))},
                   {"long_factor", Json(std::vector<double>(64, 4.0))}};
  Json rope = lists;
  rope["rope_type"] = "longrope";
  const Json original{{"original_max_position_embeddings", 3041}};
  EXPECT_EQ(verdict("mlc-llm", model_of("phi3", rope, original)), Verdict::plain);
  rope = lists;
  rope["type"] = "longrope";
  EXPECT_EQ(verdict("mlc-llm", model_of("phi3", rope, original)), Verdict::serves);
  EXPECT_EQ(verdict("mlc-llm", model_of("deepseek_v3", yarn())), Verdict::unchecked) << "TVM was not read";
}

TEST(HfReread, ExLlamaV2IsPlainUpToTheOriginalLength) {
  const ModelFile model = model_of("llama", yarn());
  const Effective there = *effective("exllamav2", model, 32768);
  EXPECT_NEAR(there.groups[0].attention_scale, kYarnScale, 1e-12);
  const Effective here = *effective("exllamav2", model, 8192);
  EXPECT_EQ(here.groups[0].attention_scale, 1);
  EXPECT_NEAR(here.groups[0].inv_freq.back(), std::pow(10000.0, -63.0 / 64), 1e-15);
  EXPECT_EQ(verdict("exllamav2", model_of("olmo2", yarn())), Verdict::unchecked);
}

TEST(HfReread, ExLlamaV3TakesTheMscalesOfDeepSeekOnly) {
  Json rope = yarn();
  rope.update({{"mscale", 1.0}, {"mscale_all_dim", 1.0}});
  EXPECT_EQ(verdict("exllamav3", model_of("deepseek_v3", rope)), Verdict::serves);
  EXPECT_NEAR(effective("exllamav3", model_of("llama", rope))->groups[0].attention_scale, kYarnScale, 1e-12);
  rope["llama_4_scaling_beta"] = 0.1;
  EXPECT_EQ(effective("exllamav3", model_of("ministral3", rope))->groups[0].attention_scale, 1);
}

TEST(HfReread, OnnxRuntimeBuilderAndTgiDoNotKnowEveryModel) {
  EXPECT_EQ(verdict("onnxruntime-genai", model_of("deepseek_v3", nullptr)), Verdict::no_load);
  EXPECT_EQ(verdict("tgi", model_of("qwen3", nullptr)), Verdict::unchecked);
}

TEST(HfReread, TgiReadsTheMscales) {
  Json rope = yarn();
  rope["mscale"] = 0.707;
  rope["mscale_all_dim"] = 0.707;
  EXPECT_NEAR(effective("tgi", model_of("llama", rope))->groups[0].attention_scale, 1, 1e-12);
}

}  // namespace
}  // namespace mrrope

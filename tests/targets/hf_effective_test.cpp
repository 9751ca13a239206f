// SPDX-License-Identifier: MIT
//
// The predictor against what running the engines showed. The case of most tests: Llama, head 64, base 1e5, L = 8192,
// M = 32768, a = 1.1386, L* = 3041.
#include "targets/hf_effective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mrrope/mrrope.h"

namespace mrrope::targets {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kScale = 1.1386;
constexpr std::int64_t kLStar = 3041;

Json list(double from = 1, double to = 4) {
  Json out = Json::array();
  for (int i = 0; i < 32; ++i) out.push_back(from + (to - from) * i / 31 + (i % 3) * 0.09);
  return out;
}

Json universal_rope() {
  return {{"rope_type", "longrope"},
          {"short_factor", list()},
          {"long_factor", list()},
          {"factor", 4.0},
          {"original_max_position_embeddings", kLStar},
          {"attention_factor", kScale},
          {"short_mscale", kScale},
          {"long_mscale", kScale}};
}

Json llama(const Json& rope_scaling, const Json& more = Json::object()) {
  Json config{
      {"model_type", "llama"}, {"hidden_size", 128},     {"num_attention_heads", 2},         {"num_key_value_heads", 2},
      {"head_dim", 64},        {"num_hidden_layers", 2}, {"max_position_embeddings", 32768}, {"rope_theta", 100000.0}};
  if (!rope_scaling.is_null()) config["rope_scaling"] = rope_scaling;
  for (const auto& [key, value] : more.items()) config[key] = value;
  return config;
}

HfEffect effect(std::string_view engine, const Json& config, std::optional<std::int64_t> context = std::nullopt) {
  const HfEngine* rules = find_hf_engine(engine);
  EXPECT_NE(rules, nullptr) << engine;
  const Result<HfConfig> parsed = HfConfig::parse(config.dump());
  EXPECT_TRUE(parsed);
  Result<HfEffect> out = hf_effect(*rules, *parsed, context);
  EXPECT_TRUE(out) << (out ? "" : to_string(out.error()));
  return out ? *out : HfEffect{};
}

bool says(const HfEffect& e, std::string_view words) {
  for (const std::string& note : e.effective.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

double scale(const HfEffect& e) { return e.effective.groups.at(0).attention_scale; }

// theta_i / theta'_i.
double factor(const HfEffect& e, int pair) {
  return std::pow(1e5, -pair / 32.0) / e.effective.groups.at(0).inv_freq.at(static_cast<std::size_t>(pair));
}

TEST(HfEffective, UniversalFileGivesItsTableInTheEnginesThatWereRun) {
  for (const char* engine : {"transformers5", "transformers4", "vllm", "mlx-lm", "openvino", "exllamav3", "lmdeploy"}) {
    const HfEffect e = effect(engine, llama(universal_rope()));
    EXPECT_TRUE(e.effective.loads && e.faithful) << engine;
    EXPECT_EQ(e.effective.context, 32768) << engine;
    EXPECT_NEAR(scale(e), kScale, 5e-6) << engine;
    for (int i = 0; i < 32; ++i) EXPECT_NEAR(factor(e, i), list()[static_cast<std::size_t>(i)].get<double>(), 1e-12);
  }
}

// vLLM's `attention_factor` of longrope: 9 was given, 1.1386 came out of the mscales.
TEST(HfEffective, VllmTakesTheMscalesOfLongrope) {
  Json rope = universal_rope();
  rope["attention_factor"] = 9.0;
  EXPECT_EQ(scale(effect("vllm", llama(rope))), kScale);
  EXPECT_TRUE(says(effect("vllm", llama(rope)), "ignores attention_factor 9"));
  EXPECT_EQ(scale(effect("transformers5", llama(rope))), 9);
}

TEST(HfEffective, VllmHonoursAttentionFactorAndTruncateOfYarn) {
  Json rope{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_NEAR(scale(effect("vllm", llama(rope))), 0.1 * std::log(4) + 1, 1e-12);
  rope["attn_factor"] = 1.3;
  rope["apply_yarn_scaling"] = false;
  EXPECT_NEAR(scale(effect("vllm", llama(rope))), 1.138629, 1e-6);
  rope["attention_factor"] = 1.3;
  EXPECT_EQ(scale(effect("vllm", llama(rope))), 1.3);
  const double whole = factor(effect("vllm", llama(rope)), 16);
  rope["truncate"] = false;
  EXPECT_NE(factor(effect("vllm", llama(rope)), 16), whole);
  EXPECT_EQ(factor(effect("vllm", llama(rope)), 16), factor(effect("transformers5", llama(rope)), 16));
}

TEST(HfEffective, SglangLosesTheTokenAtTheOriginalLength) {
  const HfEffect lost = effect("sglang", llama(universal_rope()));
  EXPECT_FALSE(lost.faithful);
  EXPECT_TRUE(says(lost, "position 3041 as position 0"));
  Json rope = universal_rope();
  rope["original_max_position_embeddings"] = 32768;
  const HfEffect cured = effect("sglang", llama(rope));
  EXPECT_TRUE(cured.faithful);
  EXPECT_EQ(scale(cured), kScale);
}

TEST(HfEffective, OnnxRuntimeBuilderIgnoresAllButLlama3OnLlama) {
  const Json yarn{{"rope_type", "yarn"},
                  {"factor", 4.0},
                  {"beta_fast", 32},
                  {"beta_slow", 1},
                  {"original_max_position_embeddings", 8192}};
  for (const Json& rope : {universal_rope(), yarn, Json{{"rope_type", "linear"}, {"factor", 4.0}}}) {
    const HfEffect e = effect("onnxruntime-genai", llama(rope));
    EXPECT_TRUE(e.effective.loads);
    EXPECT_NEAR(factor(e, 31), 1, 1e-12);
    EXPECT_TRUE(says(e, "ignores every scaling"));
  }
  const Json llama3{{"rope_type", "llama3"},
                    {"factor", 8.0},
                    {"low_freq_factor", 1.0},
                    {"high_freq_factor", 4.0},
                    {"original_max_position_embeddings", 8192}};
  EXPECT_NEAR(factor(effect("onnxruntime-genai", llama(llama3)), 31), 8, 1e-12);
}

TEST(HfEffective, OnnxRuntimeBuilderOnQwen2) {
  const Json qwen{{"model_type", "qwen2"}};
  EXPECT_FALSE(effect("onnxruntime-genai", llama(universal_rope(), qwen)).effective.loads);
  Json yarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_TRUE(says(effect("onnxruntime-genai", llama(yarn, qwen)), "ZeroDivisionError"));
  yarn["beta_fast"] = 32.0;
  yarn["beta_slow"] = 1.0;
  const HfEffect own = effect("onnxruntime-genai", llama(yarn, qwen));
  // 2.25e-2 from transformers was measured
  const double off = table_difference(own.effective.groups[0].inv_freq,
                                      effect("transformers5", llama(yarn, qwen)).effective.groups[0].inv_freq);
  EXPECT_GT(off, 1e-3);
  EXPECT_LT(off, 0.1);
  EXPECT_NEAR(factor(effect("onnxruntime-genai", llama(Json{{"rope_type", "linear"}, {"factor", 4.0}}, qwen)), 5), 4,
              1e-12);
}

// save_pretrained of transformers 5 leaves rope_parameters only.
TEST(HfEffective, FileSavedByTransformers5IsPlainElsewhere) {
  Json config = llama(nullptr);
  config.erase("rope_theta");
  config["rope_parameters"] = universal_rope();
  config["rope_parameters"]["rope_theta"] = 100000.0;
  EXPECT_NEAR(factor(effect("transformers5", config), 31), list()[31].get<double>(), 1e-12);
  EXPECT_NEAR(factor(effect("exllamav3", config), 31), list()[31].get<double>(), 1e-12);
  for (const char* engine : {"transformers4", "mlx-lm"}) {
    const HfEffect e = effect(engine, config);
    EXPECT_NEAR(e.effective.groups[0].inv_freq[31], std::pow(1e4, -31 / 32.0), 1e-12) << engine;
    EXPECT_EQ(scale(e), 1);
    EXPECT_TRUE(says(e, "rope_parameters"));
    EXPECT_TRUE(says(e, "takes 10000"));
  }
}

TEST(HfEffective, FactorWithoutAttentionFactorGivesTwoOtherScales) {
  Json rope = universal_rope();
  rope.erase("attention_factor");
  EXPECT_NEAR(scale(effect("transformers5", llama(rope))), 1.0830, 5e-5);
  EXPECT_NEAR(scale(effect("transformers4", llama(rope))), 1.0646, 5e-5);
  rope.erase("factor");
  const HfEffect e = effect("transformers4", llama(rope));
  EXPECT_FALSE(e.effective.loads);
  EXPECT_TRUE(says(e, "TypeError"));
}

TEST(HfEffective, LengthThatVllmOffers) {
  EXPECT_EQ(effect("vllm", llama(universal_rope())).effective.context, 32768);
  EXPECT_EQ(effect("vllm", llama(universal_rope(), {{"original_max_position_embeddings", 8192}})).effective.context,
            8192);
  EXPECT_EQ(effect("vllm", llama(Json{{"rope_type", "linear"}, {"factor", 4.0}})).effective.context, 131072);
  const Json yarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_EQ(effect("vllm", llama(yarn, {{"max_position_embeddings", 8192}})).effective.context, 8192);
}

TEST(HfEffective, VllmServesTheShortListUpToATopLevelOriginal) {
  Json rope = universal_rope();
  rope["short_factor"] = list(1, 1);
  const Json top{{"original_max_position_embeddings", 8192}};
  EXPECT_NEAR(factor(effect("vllm", llama(rope, top)), 30), list(1, 1)[30].get<double>(), 1e-12);
  EXPECT_NEAR(factor(effect("vllm", llama(rope, top), 32768), 30), list()[30].get<double>(), 1e-12);
}

// The nested length is never read: without the one at the top level, 20000 tokens use the short list.
TEST(HfEffective, Transformers4DoesNotReadTheNestedOriginal) {
  Json rope = universal_rope();
  rope["short_factor"] = list(1, 1);
  const HfEffect e = effect("transformers4", llama(rope), 20000);
  EXPECT_NEAR(factor(e, 30), list(1, 1)[30].get<double>(), 1e-12);
  EXPECT_TRUE(says(e, "does not read original_max_position_embeddings"));
  EXPECT_NEAR(factor(effect("transformers5", llama(rope), 20000), 30), list()[30].get<double>(), 1e-12);
  EXPECT_NEAR(factor(effect("transformers4", llama(rope, {{"original_max_position_embeddings", 8192}}), 20000), 30),
              list()[30].get<double>(), 1e-12);
}

TEST(HfEffective, DynamicIsFourDifferentThings) {
  const Json config = llama(Json{{"rope_type", "dynamic"}, {"factor", 4.0}}, {{"max_position_embeddings", 8192}});
  EXPECT_NEAR(factor(effect("transformers5", config, 8192), 31), 1, 1e-12);
  EXPECT_NEAR(factor(effect("transformers5", config, 32768), 31), 13, 1e-9);  // 4 * 4 - 3
  EXPECT_NEAR(factor(effect("vllm", config, 32768), 31), 1, 1e-12);
  EXPECT_NEAR(factor(effect("sglang", config, 8192), 31), 13, 1e-9);
  EXPECT_FALSE(effect("exllamav3", config).effective.loads);
}

TEST(HfEffective, MissingHeadDimOfMistral) {
  Json config = llama(universal_rope(), {{"model_type", "mistral"}});
  config.erase("head_dim");
  EXPECT_TRUE(effect("transformers5", config).effective.loads);
  EXPECT_TRUE(says(effect("transformers4", config), "head_dim is None"));
  config["model_type"] = "mixtral";
  EXPECT_FALSE(effect("transformers5", config).effective.loads);
  EXPECT_FALSE(effect("transformers4", config).effective.loads);
}

TEST(HfEffective, MistralRsAndCandleRefuseLongropeOnLlamaAndIgnoreItOnQwen) {
  for (const char* engine : {"mistral.rs", "candle", "mlc-llm"}) {
    EXPECT_FALSE(effect(engine, llama(universal_rope())).effective.loads) << engine;
    const HfEffect qwen = effect(engine, llama(universal_rope(), {{"model_type", "qwen3"}}));
    EXPECT_TRUE(qwen.effective.loads);
    EXPECT_NEAR(factor(qwen, 31), 1, 1e-12) << engine;
  }
}

TEST(HfEffective, TgiTurnsTheAnglesByTheMscales) {
  const HfEffect e = effect("tgi", llama(universal_rope(), {{"original_max_position_embeddings", kLStar}}));
  EXPECT_NEAR(factor(e, 7), list()[7].get<double>() / kScale, 1e-12);
  EXPECT_FALSE(effect("tgi", llama(universal_rope())).effective.loads);
  EXPECT_NEAR(factor(effect("tgi", llama(Json{{"rope_type", "linear"}, {"factor", 4.0}})), 7), 1, 1e-12);
}

TEST(HfEffective, ExLlama) {
  Json both = universal_rope();
  both["type"] = "longrope";
  EXPECT_TRUE(says(effect("exllamav2", llama(both, {{"original_max_position_embeddings", kLStar}})), "AssertionError"));
  const Json yarn{{"rope_type", "yarn"}, {"factor", 2.0}, {"original_max_position_embeddings", 8192}};
  EXPECT_NEAR(factor(effect("exllamav3", llama(yarn)), 31), 4, 1e-12);  // M/L, not `factor`
  EXPECT_TRUE(says(effect("exllamav3", llama(yarn)), "ignores factor 2"));
}

TEST(HfEffective, MlxAlwaysUsesTheLongListAndNeverTheStatedScale) {
  Json rope = universal_rope();
  rope["short_factor"] = list(1, 1);
  rope["attention_factor"] = 1.0;
  const HfEffect e = effect("mlx-lm", llama(rope), 100);
  EXPECT_NEAR(factor(e, 30), list()[30].get<double>(), 1e-12);
  EXPECT_NEAR(scale(e), kScale, 5e-6);
  Json yarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}, {"truncate", false}};
  EXPECT_TRUE(says(effect("mlx-lm", llama(yarn)), "ignores truncate"));
}

TEST(HfEffective, Transformers4WantsThreeFieldsOfPhi3) {
  const Json phi3{{"model_type", "phi3"}, {"original_max_position_embeddings", kLStar}};
  EXPECT_TRUE(says(effect("transformers4", llama(universal_rope(), phi3)), "three fields"));
  const Json three{{"type", "longrope"}, {"short_factor", list()}, {"long_factor", list()}};
  EXPECT_NEAR(scale(effect("transformers4", llama(three, phi3))), kScale, 5e-6);
  EXPECT_NEAR(scale(effect("transformers5", llama(three, phi3))), kScale, 5e-6);
}

// Found in the wheel of optimum-intel 2.2: it prefers rope_parameters even under transformers 4.
TEST(HfEffective, OpenVinoTripsOverParametersPerKindOfLayer) {
  Json config =
      llama(universal_rope(), {{"model_type", "gemma3_text"}, {"num_hidden_layers", 6}, {"sliding_window", 512}});
  EXPECT_TRUE(effect("openvino", config).effective.loads);
  config["rope_parameters"] = {{"full_attention", universal_rope()}, {"sliding_attention", {{"rope_type", "default"}}}};
  EXPECT_FALSE(effect("openvino", config).effective.loads);
  EXPECT_TRUE(effect("transformers4", config).effective.loads);
}

TEST(HfEffective, EveryEngineHasASourceAndAVersion) {
  for (const HfEngine& engine : hf_engines()) {
    EXPECT_FALSE(engine.info.source.empty()) << engine.info.name;
    EXPECT_FALSE(engine.info.versions.empty()) << engine.info.name;
    EXPECT_TRUE(engine.info.reads_hf);
    EXPECT_EQ(find_hf_engine(engine.info.name), &engine);
  }
}

}  // namespace
}  // namespace mrrope::targets

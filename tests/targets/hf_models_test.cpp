// SPDX-License-Identifier: MIT
//
// Models that an engine's code treats otherwise than Llama: who is promised the table, and how it is started.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mrrope/mrrope.h"
#include "mrrope/targets.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

using Json = nlohmann::ordered_json;

ModelFile model_of(const std::string& model_type, const Json& more = Json::object()) {
  Json config{{"model_type", model_type},  {"hidden_size", 4096},   {"num_attention_heads", 32},
              {"num_key_value_heads", 8},  {"head_dim", 128},       {"num_hidden_layers", 32},
              {"qk_rope_head_dim", 64},    {"rope_theta", 10000.0}, {"max_position_embeddings", 8192},
              {"rotary_emb_base", 10000.0}};
  if (model_type.find("deepseek") == std::string::npos) config.erase("qk_rope_head_dim");
  config.update(more);
  return {"config.json", *HfConfig::parse(config.dump())};
}

ModelFile fixture(const std::string& name) { return *read_model(std::string(MRROPE_CONFIGS) + "/" + name + ".json"); }

Result<Delivery> delivered(std::string_view engine, const ModelFile& model, const char* method = "mrrope-pro",
                           int factor = 4) {
  const RopeSpec spec = *rope_spec(model);
  return deliver(engine, *make_plan(spec, factor * spec.context_trained, test::method(method)), model);
}

ModelFile extended(const ModelFile& model) {
  HfConfig config = *model.hf();
  EXPECT_TRUE(config.apply(delivered(kUniversal, model)->hf));
  return {model.path, config};
}

Service service(const ModelFile& model, std::string_view engine) {
  const Result<Delivery> d = delivered(kUniversal, model);
  EXPECT_TRUE(d) << to_string(d.error());
  return *std::find_if(d->services.begin(), d->services.end(), [&](const Service& s) { return s.engine == engine; });
}

bool says(const std::vector<std::string>& lines, std::string_view words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

// ---- Models that see pictures (M-RoPE) -----------------------------------------------------------------------------

ModelFile sectioned(const std::string& model_type) {
  return model_of(model_type, {{"rope_theta", 1e6},
                               {"max_position_embeddings", 32768},
                               {"rope_scaling", {{"type", "mrope"}, {"mrope_section", {16, 24, 24}}}}});
}

Json yarn_beside_sections() {
  return {{"rope_type", "yarn"},
          {"factor", 4.0},
          {"original_max_position_embeddings", 32768},
          {"mrope_section", {16, 24, 24}}};
}

// MRotaryEmbedding asks for room for four times the positions, and hands that length to YaRN (mrope.py 351).
TEST(HfModels, VllmPlacesYarnOnQwen25VlByFourTimesItsLength) {
  const Json rope{{"rope_theta", 1e6}, {"max_position_embeddings", 131072}, {"rope_scaling", yarn_beside_sections()}};
  const Spectrum by_four = plain_spectrum(128, 1e6, 4 * 32768);
  const Effective old = *effective("vllm", model_of("qwen2_5_vl", rope), 131072);
  EXPECT_LE(table_difference(old.groups[0].inv_freq, inv_freq(by_four, table(by_four, 4, Yarn{}).pair_factors)), 1e-9);
  EXPECT_TRUE(says(old.notes, "places yarn's ramp by 4 times original_max_position_embeddings"));
  for (const auto& [engine, type] : {std::pair{"vllm", "qwen3_vl_text"},
                                     {"sglang", "qwen2_5_vl"},
                                     {"transformers5", "qwen2_5_vl"},
                                     {"transformers4", "qwen2_5_vl"}}) {
    const Effective e = *effective(engine, model_of(type, rope), 131072);
    const Spectrum once = plain_spectrum(128, 1e6, 32768);
    EXPECT_LE(table_difference(e.groups[0].inv_freq, inv_freq(once, table(once, 4, Yarn{}).pair_factors)), 1e-9)
        << engine;
  }
}

TEST(HfModels, TheFileForVllmMakesUpForIt) {
  const ModelFile model = sectioned("qwen2_5_vl");
  const Result<Delivery> delivery = delivered("vllm", model, "yarn");
  ASSERT_TRUE(delivery) << to_string(delivery.error());
  EXPECT_LE(delivery->residual, 1e-9);
  HfConfig config = *model.hf();
  ASSERT_TRUE(config.apply(delivery->hf));
  const Json rope = Json::parse(config.value("rope_scaling"));
  EXPECT_EQ(rope["beta_fast"], 128);
  EXPECT_EQ(rope["beta_slow"], 4);
  EXPECT_EQ(rope["original_max_position_embeddings"], 32768);
  EXPECT_EQ(rope["mrope_section"], (Json{16, 24, 24}));
  // Qwen 3 VL needs nothing of it
  HfConfig newer = *sectioned("qwen3_vl").hf();
  ASSERT_TRUE(newer.apply(delivered("vllm", sectioned("qwen3_vl"), "yarn")->hf));
  EXPECT_EQ(Json::parse(newer.value("rope_scaling"))["beta_fast"], 32);
}

TEST(HfModels, ServersTakeYarnOnlyBesideSections) {
  const ModelFile model = sectioned("qwen2_5_vl");
  for (const char* engine : {"vllm", "sglang"}) {
    EXPECT_FALSE(service(model, engine).served) << engine;
    const Result<Delivery> refused = delivered(engine, model);
    ASSERT_FALSE(refused) << engine;
    EXPECT_NE(refused.error().message.find("takes one position per token, and mrope_section brings three"),
              std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("Nearest that it can: yarn, factor 4 from 32768"), std::string::npos)
        << refused.error().message;
  }
  EXPECT_TRUE(service(model, "transformers5").served);
  EXPECT_TRUE(service(model, "transformers4").served);
  Json rope = yarn_beside_sections();
  rope["mscale"] = rope["mscale_all_dim"] = 1;
  EXPECT_FALSE(effective("sglang", model_of("qwen2_5_vl", {{"rope_scaling", rope}}))->loads);
}

// ---- Who is promised the table -------------------------------------------------------------------------------------

TEST(HfModels, MlxIsPromisedNoTableWhereItsCodeReadsNone) {
  for (const char* type : {"qwen3_moe", "mixtral", "glm4", "cohere", "cohere2", "gemma2", "ernie4_5", "gpt_neox",
                           "stablelm", "starcoder2", "llama4_text"}) {
    const ModelFile model = model_of(type);
    EXPECT_FALSE(service(model, "mlx-lm").served) << type;
    EXPECT_FALSE(service(model, "mlx-lm").own_file) << type;
    const Effective e = *effective("mlx-lm", extended(model));
    EXPECT_TRUE(e.loads && e.by_table) << type;
    EXPECT_EQ(e.groups[0].attention_scale, 1) << type;
    EXPECT_TRUE(says(e.notes, "does not read rope_scaling on this model")) << type;
    EXPECT_TRUE(delivered("mlx-lm", model, "ntk")) << type << ": a base is read";
  }
  EXPECT_TRUE(service(model_of("olmo2"), "mlx-lm").served);
}

TEST(HfModels, MlxRotatesTheInterleavedPairsOfDeepSeekAsHalves) {
  const ModelFile model = fixture("deepseek-v3");
  EXPECT_FALSE(service(model, "mlx-lm").served);
  EXPECT_FALSE(effective("mlx-lm", extended(model))->by_table);
  EXPECT_TRUE(effective("mlx-lm", model)->by_table) << "as released it is YaRN";
}

TEST(HfModels, LongropeIsForHalvesOnlyInVllmAndSglang) {
  for (const char* type : {"cohere", "cohere2", "cohere2_moe", "glm4", "ernie4_5_moe"}) {
    const ModelFile model = model_of(type);
    for (const char* engine : {"vllm", "sglang"}) {
      EXPECT_FALSE(service(model, engine).served || service(model, engine).own_file) << type << " " << engine;
      const Effective e = *effective(engine, extended(model));
      EXPECT_FALSE(e.loads) << type << " " << engine;
      EXPECT_TRUE(says(e.notes, "ValueError: only supports neox_style")) << type << " " << engine;
    }
    EXPECT_FALSE(says(delivered(kUniversal, model)->commands, "vllm serve")) << type;
  }
  EXPECT_FALSE(effective("vllm", extended(model_of("ernie4_5")))->by_table);
  EXPECT_TRUE(service(model_of("glm"), "vllm").served) << "run by the code of transformers";
}

TEST(HfModels, VllmRunsYarnOnlyOnGptOss) {
  const ModelFile model = fixture("gpt-oss-20b");
  EXPECT_TRUE(effective("vllm", model)->loads);
  EXPECT_FALSE(effective("vllm", extended(model))->loads);
}

// tests/engines/test_vllm_server.py runs the engine
TEST(HfModels, VllmRotatesWhatItLeavesToTransformersAsTransformersDoes) {
  const std::vector<double> list(64, 2.0);
  const Json rope{{"rope_type", "longrope"},
                  {"short_factor", list},
                  {"long_factor", list},
                  {"attention_factor", 1.25},
                  {"short_mscale", 1.05},
                  {"long_mscale", 1.2},
                  {"original_max_position_embeddings", 4096}};
  const auto scale = [&](const char* engine, const char* type) {
    return effective(engine, model_of(type, {{"rope_scaling", rope}}))->groups[0].attention_scale;
  };
  for (const char* type : {"olmo2", "smollm3", "arcee", "seed_oss", "helium"}) {
    EXPECT_EQ(scale("vllm", type), 1.25) << type;
    EXPECT_EQ(scale("vllm", type), scale("transformers5", type)) << type;
    EXPECT_TRUE(says(delivered("vllm", model_of(type))->commands, "--enforce-eager")) << type << ": longrope";
    EXPECT_FALSE(says(delivered("vllm", model_of(type), "yarn")->commands, "--enforce-eager")) << type;
  }
  EXPECT_EQ(scale("vllm", "llama"), 1.2) << "its own layers take the mscales";
  for (const char* type : {"diffllama", "minimax", "codegen"}) {
    EXPECT_FALSE(effective("vllm", model_of(type))->loads) << type;
  }
}

TEST(HfModels, EnginesRefuseArchitecturesThatTheyDoNotHave) {
  for (const char* type : {"gpt_neox", "granite", "olmo2", "stablelm", "my_model"}) {
    for (const char* engine : {"exllamav3", "lmdeploy"}) {
      const Effective e = *effective(engine, model_of(type));
      EXPECT_FALSE(e.loads) << type << " " << engine;
      EXPECT_TRUE(says(e.notes, "does not know this model")) << type << " " << engine;
    }
  }
  for (const char* type : {"cohere", "ernie4_5"}) {
    EXPECT_TRUE(effective("exllamav3", model_of(type))->loads) << type;
    EXPECT_FALSE(effective("lmdeploy", model_of(type))->loads) << type;
  }
}

TEST(HfModels, AModelThatNobodyLookedAtIsNotCalledServed) {
  const ModelFile model = model_of("my_model", {{"auto_map", {{"AutoModelForCausalLM", "modeling.MyModel"}}}});
  for (const char* engine : {"transformers5", "vllm", "mlx-lm"}) {
    EXPECT_EQ(effective(engine, model)->evidence, Evidence::unchecked) << engine;
    EXPECT_FALSE(service(model, engine).checked) << engine;
  }
  EXPECT_FALSE(says(delivered(kUniversal, model)->commands, "vllm serve"));
  EXPECT_TRUE(says(delivered("vllm", model)->notes, "was not checked with my_model"));
  EXPECT_EQ(effective("vllm", model_of("stablelm"))->evidence, Evidence::read);
  EXPECT_TRUE(service(model_of("stablelm"), "vllm").checked);
}

// ---- How it is started ---------------------------------------------------------------------------------------------

TEST(HfModels, TheCommandForTransformersNamesTheClassThatLoadsTheModel) {
  const auto command = [](const ModelFile& model) { return delivered("transformers5", model)->commands; };
  EXPECT_TRUE(says(command(model_of("llama")), "t.AutoModelForCausalLM."));
  EXPECT_TRUE(says(command(fixture("gemma-3-1b")), "t.AutoModelForCausalLM."));
  EXPECT_TRUE(says(command(fixture("gemma-3-4b")), "t.AutoModelForImageTextToText."));
  EXPECT_TRUE(says(command(model_of("qwen2_5_vl")), "t.AutoModelForImageTextToText."));
  EXPECT_TRUE(says(delivered(kUniversal, fixture("gemma-3-4b"))->commands, "t.AutoModelForImageTextToText."));
  const Json text = Json::parse(model_of("qwen2").hf()->text());
  for (const char* part : {"thinker_config", "llm_config"}) {
    const ModelFile whole{"config.json", *HfConfig::parse(Json{{"model_type", "whole"}, {part, text}}.dump())};
    EXPECT_TRUE(command(whole).empty()) << part << ": neither class loads it";
  }
  const Json sound{{"model_type", "voxtral"}, {"text_config", text}, {"audio_config", {{"hidden_size", 64}}}};
  EXPECT_TRUE(command({"config.json", *HfConfig::parse(sound.dump())}).empty());
}

// ---- Nearest -------------------------------------------------------------------------------------------------------

TEST(HfModels, MoreOfTheSameIsNearestOnAModelThatShipsYarn) {
  const Result<Delivery> oss = delivered("vllm", fixture("gpt-oss-20b"), "mrrope-pro", 2);
  ASSERT_FALSE(oss);
  EXPECT_NE(oss.error().message.find("Nearest that it can: yarn, factor 64 from 4096"), std::string::npos)
      << oss.error().message;
}

}  // namespace
}  // namespace mrrope

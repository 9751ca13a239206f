// SPDX-License-Identifier: MIT
//
// What a config.json says, in every dialect. The expected values are those of the models' cards; that the tables are
// the ones transformers builds is the business of tests/engines/test_hf_configs.py.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "tests/formats/hf_fixtures.h"

namespace mrrope {
namespace {

using test::config;
using test::config_file;
using test::error_of;
using test::spec_of;

// A Llama with 8 heads of 64, 4096 tokens and base 10000, and more fields.
HfConfig llama(const std::string& more) {
  return config(R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
                    "max_position_embeddings": 4096)" +
                (more.empty() ? "" : ", " + more) + "}");
}

HfConfig gemma3(const std::string& more) {
  return config(R"({"model_type": "gemma3_text", "num_hidden_layers": 12)" + (more.empty() ? "" : ", " + more) + "}");
}

std::string source(const HfConfig& c, const std::string& name) {
  const Result<HfFacts> facts = c.facts();
  if (!facts) return to_string(facts.error());
  for (const HfFact& fact : facts->sources) {
    if (fact.name == name) return fact.value + " from " + fact.source;
  }
  return "";
}

std::string remarks(const HfConfig& c) {
  const Result<HfFacts> facts = c.facts();
  if (!facts) return to_string(facts.error());
  return std::accumulate(facts->remarks.begin(), facts->remarks.end(), std::string());
}

// ---- Whole files ---------------------------------------------------------------------------------------------------

struct Expected {
  std::int64_t context;
  int rotary_dim;
  double base;
  std::string trained;  // "method x factor from context"
  double scale = 1;
};

std::string trained_text(const LayerGroup& group) {
  if (!group.trained) return "";
  const std::string method = spell(group.trained->method);
  return method.substr(0, method.find(":short")) + " x" + format_number(group.trained->factor) + " from " +
         std::to_string(group.trained->context_original);
}

TEST(HfSpec, ReadsEveryFixtureAsItsModelCardSays) {
  const std::map<std::string, Expected> expected = {
      {"llama-2-7b", {4096, 128, 1e4, ""}},
      {"vicuna-7b-16k", {16384, 128, 1e4, "linear x4 from 4096"}},
      {"llama-dynamic", {4096, 128, 1e4, ""}},
      {"llama-3.1-8b", {131072, 128, 5e5, "llama3 x8 from 8192"}},
      {"llama-3.2-1b-v5", {131072, 64, 5e5, "llama3 x32 from 8192"}},
      {"qwen2.5-7b", {32768, 128, 1e6, ""}},
      {"qwen2.5-7b-yarn", {131072, 128, 1e6, "yarn x4 from 32768", 0.1 * std::log(4.0) + 1}},
      {"qwen3-8b", {40960, 128, 1e6, ""}},
      {"qwen3-8b-yarn", {131072, 128, 1e6, "yarn x4 from 32768", 0.1 * std::log(4.0) + 1}},
      {"gemma-2-9b", {8192, 256, 1e4, ""}},
      {"gemma-3-1b", {32768, 256, 1e6, ""}},
      {"gemma-3-4b", {131072, 256, 1e6, "linear x8 from 16384"}},
      {"gemma-3-4b-v5", {131072, 256, 1e6, "linear x8 from 16384"}},
      {"gemma-4-e2b", {131072, 512, 1e6, "linear+clip:keep=64 x1 from 131072"}},
      {"gemma-4-resaved", {131072, 512, 1e6, "linear+clip:keep=64 x2 from 65536"}},
      {"phi-3-mini-128k", {131072, 96, 1e4, "longrope x32 from 4096", std::sqrt(1 + std::log(32.) / std::log(4096.))}},
      {"phi-3-mini-128k-su", {131072, 96, 1e4, "longrope x32 from 4096", std::sqrt(17.0 / 12)}},
      {"phi-4-mini", {131072, 96, 1e4, "longrope x32 from 4096", std::sqrt(17.0 / 12)}},
      {"mistral-7b-v0.1", {32768, 128, 1e4, ""}},
      {"gpt-oss-20b", {131072, 64, 1.5e5, "yarn:truncate=false x32 from 4096", 0.1 * std::log(32.0) + 1}},
      {"deepseek-v3", {163840, 64, 1e4, "yarn:mscale_all_dim=1 x40 from 4096", 1}},
      {"deepseek-v2-lite",
       {163840, 64, 1e4, "yarn:mscale=0.707:mscale_all_dim=0.5 x40 from 4096",
        (0.0707 * std::log(40.0) + 1) / (0.05 * std::log(40.0) + 1)}},
      {"glm-4-9b", {131072, 64, 1e4, ""}},
      {"glm-4.5-v5", {131072, 64, 1e6, ""}},
      {"stablelm-2-1.6b", {4096, 16, 1e4, ""}},
      {"pythia-1.4b", {2048, 32, 1e4, ""}},
      {"gpt-j-6b", {2048, 64, 1e4, ""}},
      {"minimax-m2", {196608, 64, 5e6, ""}},
      {"olmo-3-7b", {65536, 128, 5e5, "yarn:attention_scale=1.2079441541679836 x8 from 8192", 1.2079441541679836}},
      {"qwen2-vl-7b", {32768, 128, 1e6, ""}},
      {"smollm3-3b", {65536, 128, 5e6, ""}},
      {"hunyuan-7b", {32768, 128, 1e4, "ntk x1000 from 32768"}},
      {"internlm2-7b", {32768, 128, 1e6, ""}},
      {"internvl2-8b", {8192, 128, 5e5, ""}},
      {"universal-longrope", {32768, 64, 1e5, "longrope x4 from 3041", 1.1386}},
  };
  for (const std::string& name : test::config_names()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(expected.contains(name));
    const Expected& want = expected.at(name);
    const RopeSpec spec = spec_of(config_file(name));
    ASSERT_FALSE(spec.groups.empty());
    EXPECT_TRUE(check_spec(spec));
    EXPECT_EQ(spec.context_trained, want.context);
    EXPECT_EQ(spec.groups[0].rotary_dim, want.rotary_dim);
    EXPECT_EQ(spec.groups[0].base, want.base);
    EXPECT_EQ(trained_text(spec.groups[0]), want.trained);
    EXPECT_NEAR(trained_table(spec, 0).attention_scale, want.scale, 1e-12);
  }
  EXPECT_EQ(test::config_names().size(), expected.size());
}

TEST(HfSpec, BothDialectsOfOneModelAreOneSpec) {
  RopeSpec v4 = spec_of(config_file("gemma-3-4b"));
  EXPECT_EQ(v4, spec_of(config_file("gemma-3-4b-v5")));
}

// ---- Groups --------------------------------------------------------------------------------------------------------

TEST(HfSpec, SlidingLayersWithATableOfTheirOwnAreAGroupThatIsNotExtended) {
  const RopeSpec spec = spec_of(config_file("gemma-3-1b"));
  ASSERT_EQ(spec.groups.size(), 2U);
  EXPECT_EQ(spec.groups[0].name, "full_attention");
  EXPECT_EQ(spec.groups[0].layers, (std::vector<int>{5, 11, 17, 23}));
  EXPECT_TRUE(spec.groups[0].extended);
  EXPECT_EQ(spec.groups[1].name, "sliding_attention");
  EXPECT_EQ(spec.groups[1].layers.size(), 22U);
  EXPECT_EQ(spec.groups[1].base, 10000);
  EXPECT_FALSE(spec.groups[1].extended);
}

TEST(HfSpec, SlidingLayersThatShareTheTableAreAFactOnly) {
  for (const std::string name : {"gemma-2-9b", "mistral-7b-v0.1", "gpt-oss-20b"}) {
    EXPECT_EQ(spec_of(config_file(name)).groups.size(), 1U) << name;
  }
  const HfFacts gemma = *config_file("gemma-2-9b").facts();
  EXPECT_EQ(gemma.sliding_window, 4096);
  EXPECT_EQ(gemma.sliding_layers, 21);
  EXPECT_EQ(gemma.attention_layers, 42);
  EXPECT_EQ(gemma.kv_heads, 8);
  EXPECT_EQ(gemma.head_dim, 256);
  // Qwen names a window and does not use it.
  EXPECT_EQ(config_file("qwen2.5-7b").facts()->sliding_window, 0);
}

TEST(HfSpec, HeadsOfDifferentSizesMakeTablesOfDifferentLengths) {
  for (const std::string name : {"gemma-4-e2b", "gemma-4-resaved"}) {
    const RopeSpec spec = spec_of(config_file(name));
    EXPECT_EQ(spec.groups[0].rotary_dim, 512);
    EXPECT_EQ(spec.groups[1].rotary_dim, 256);
  }
}

TEST(HfSpec, LayersWithoutRotationAreInNoGroup) {
  const RopeSpec smollm = spec_of(config_file("smollm3-3b"));
  EXPECT_EQ(smollm.groups[0].layers.size(), 27U);
  EXPECT_EQ(smollm.groups[0].layers[3], 4);
  const RopeSpec cohere = spec_of(config(R"({"model_type": "cohere2", "num_hidden_layers": 4})"));
  EXPECT_EQ(cohere.groups[0].layers, (std::vector<int>{0, 1, 2}));
  const RopeSpec null = spec_of(config(R"({"model_type": "beam", "hidden_size": 512, "num_attention_heads": 8,
      "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"], "max_position_embeddings": 512,
      "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})"));
  ASSERT_EQ(null.groups.size(), 1U);
  EXPECT_EQ(null.groups[0].layers, std::vector<int>{0});
}

// ---- Which of several spellings wins -------------------------------------------------------------------------------

TEST(HfSpec, RopeScalingReplacesRopeParametersAndLosesItsBase) {
  // unslothai/unsloth#7028: a rope_scaling written over rope_parameters took the base with it.
  const HfConfig c = llama(R"("rope_parameters": {"rope_theta": 5e5, "rope_type": "default"},
                              "rope_scaling": {"type": "linear", "factor": 2})");
  EXPECT_EQ(spec_of(c).groups[0].base, 10000);
  EXPECT_EQ(remarks(c), "rope_parameters is ignored: rope_scaling replaces all of it.");
  EXPECT_EQ(source(c, "rope base"), "10000 from default of llama");
}

TEST(HfSpec, AnEmptyRopeScalingIsNone) {
  const HfConfig c = llama(R"("rope_parameters": {"rope_theta": 5e5}, "rope_scaling": {})");
  EXPECT_EQ(spec_of(c).groups[0].base, 500000);
  EXPECT_EQ(source(c, "rope base"), "500000 from rope_parameters.rope_theta");
}

TEST(HfSpec, TheInnerBaseWinsOverTheOuterOne) {
  EXPECT_EQ(spec_of(llama(R"("rope_theta": 2e4, "rope_parameters": {"rope_theta": 5e5})")).groups[0].base, 500000);
  EXPECT_EQ(spec_of(llama(R"("rope_theta": 2e4, "rope_parameters": {"rope_type": "default"})")).groups[0].base, 20000);
}

TEST(HfSpec, RopeTypeWinsOverType) {
  const HfConfig c = llama(R"("rope_scaling": {"type": "linear", "rope_type": "dynamic", "factor": 2})");
  EXPECT_FALSE(spec_of(c).groups[0].trained);
  EXPECT_NE(remarks(c).find("rope_scaling.type says \"linear\", but rope_scaling.rope_type wins."), std::string::npos);
}

TEST(HfSpec, GemmaIgnoresTheOldNameOfTheType) {
  // rope_scaling is laid over {"rope_type": "default"}, so that "type" is never looked at.
  const HfConfig c = gemma3(R"("rope_scaling": {"type": "linear", "factor": 8})");
  EXPECT_FALSE(spec_of(c).groups[0].trained);
  EXPECT_NE(remarks(c).find("rope_scaling.type says \"linear\""), std::string::npos);
}

TEST(HfSpec, GemmaIgnoresFlatRopeParameters) {
  const HfConfig c = gemma3(R"("rope_parameters": {"rope_type": "linear", "factor": 8, "rope_theta": 5.0})");
  EXPECT_FALSE(spec_of(c).groups[0].trained);
  EXPECT_EQ(spec_of(c).groups[0].base, 1e6);
  EXPECT_NE(remarks(c).find("rope_parameters is ignored"), std::string::npos);
}

TEST(HfSpec, TheOuterOriginalLengthWinsExceptInNestedParameters) {
  const std::string yarn = R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 2048})";
  const HfConfig flat = llama(R"("original_max_position_embeddings": 1024, "rope_scaling": )" + yarn);
  EXPECT_EQ(spec_of(flat).groups[0].trained->context_original, 1024);
  EXPECT_NE(remarks(flat).find("rope_scaling.original_max_position_embeddings is ignored."), std::string::npos);
  const HfConfig nested = gemma3(R"("original_max_position_embeddings": 1024, "rope_scaling": )" + yarn);
  EXPECT_EQ(spec_of(nested).groups[0].trained->context_original, 2048);
  EXPECT_NE(remarks(nested).find("original_max_position_embeddings is ignored."), std::string::npos);
}

TEST(HfSpec, PartialRotationIsReadByTheClassesThatHaveIt) {
  EXPECT_EQ(spec_of(llama(R"("partial_rotary_factor": 0.5)")).groups[0].rotary_dim, 64);
  EXPECT_NE(remarks(llama(R"("partial_rotary_factor": 0.5)")).find("partial_rotary_factor is ignored"),
            std::string::npos);
  const HfConfig unknown = config(R"({"model_type": "mine", "head_dim": 64, "rope_theta": 10000, "rotary_pct": 0.5,
                                      "max_position_embeddings": 512})");
  EXPECT_EQ(spec_of(unknown).groups[0].rotary_dim, 32);
}

// ---- Parameters of the types ---------------------------------------------------------------------------------------

const Yarn& yarn_of(const RopeSpec& spec) { return std::get<Yarn>(spec.groups[0].trained->method.law); }

TEST(HfSpec, ZeroAndNullParametersOfYarnAreItsDefaults) {
  const RopeSpec spec = spec_of(llama(R"("rope_scaling": {"rope_type": "yarn", "factor": 4, "beta_fast": 0,
      "beta_slow": null, "mscale": 0, "mscale_all_dim": 1, "attention_factor": null})"));
  EXPECT_EQ(yarn_of(spec), Yarn{});
  EXPECT_NEAR(trained_table(spec, 0).attention_scale, 0.1 * std::log(4.0) + 1, 1e-15);
}

TEST(HfSpec, OneMscaleAloneIsIgnoredAndSaidToBe) {
  const HfConfig c = llama(R"("rope_scaling": {"rope_type": "yarn", "factor": 4, "mscale": 0.707})");
  EXPECT_EQ(yarn_of(spec_of(c)).attention, MScale{});
  EXPECT_EQ(remarks(c), "rope_scaling.mscale is ignored: it needs mscale and mscale_all_dim.");
}

TEST(HfSpec, AFactorLeftOutIsTheRatioOfTheLengths) {
  const RopeSpec yarn = spec_of(
      llama(R"("rope_scaling": {"rope_type": "yarn", "factor": null, "original_max_position_embeddings": 1024})"));
  EXPECT_EQ(yarn.groups[0].trained->factor, 4);
  EXPECT_EQ(yarn.context_trained, 4096);
  EXPECT_EQ(error_of(llama(R"("rope_scaling": {"rope_type": "linear"})")), "rope_scaling.factor: missing");
}

TEST(HfSpec, TruncateNullMeansFalseAndNestedTruncateNothing) {
  const std::string yarn = R"("rope_scaling": {"rope_type": "yarn", "factor": 4, "truncate": )";
  EXPECT_TRUE(yarn_of(spec_of(llama(yarn + "true}"))).band.truncate);
  EXPECT_FALSE(yarn_of(spec_of(llama(yarn + "false}"))).band.truncate);
  EXPECT_FALSE(yarn_of(spec_of(llama(yarn + "null}"))).band.truncate);
  EXPECT_TRUE(yarn_of(spec_of(gemma3(yarn + "false}"))).band.truncate);
}

TEST(HfSpec, AScalingThatChangesNothingIsNone) {
  EXPECT_FALSE(spec_of(llama(R"("rope_scaling": {"type": "linear", "factor": 1.0})")).groups[0].trained);
  EXPECT_TRUE(
      spec_of(llama(R"("rope_scaling": {"type": "yarn", "factor": 1.0, "attention_factor": 1.2})")).groups[0].trained);
}

TEST(HfSpec, DynamicIsPlainAndSaysSo) {
  const HfConfig c = config_file("llama-dynamic");
  EXPECT_EQ(remarks(c),
            "Up to 4096 tokens the table is plain; beyond, transformers lets the base grow (dynamic, factor 2).");
}

// ---- The length a model is good for --------------------------------------------------------------------------------

TEST(HfSpec, ContextFollowsTheRuleOfEachType) {
  const auto context = [](const std::string& scaling) {
    return spec_of(llama(R"("rope_scaling": )" + scaling)).context_trained;
  };
  EXPECT_EQ(context(R"({"type": "yarn", "factor": 4})"), 16384);
  EXPECT_EQ(context(R"({"type": "yarn", "factor": 2, "original_max_position_embeddings": 1024})"), 4096);
  EXPECT_EQ(context(R"({"type": "linear", "factor": 4})"), 4096);
  EXPECT_EQ(context(R"({"type": "linear", "factor": 4, "original_max_position_embeddings": 4096})"), 16384);
  const std::string ramp = R"("type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4, "factor": 8)";
  EXPECT_EQ(context("{" + ramp + R"(, "original_max_position_embeddings": 2048})"), 4096);
  EXPECT_EQ(context("{" + ramp + "}"), 32768);
}

// ---- Where the language model is -----------------------------------------------------------------------------------

TEST(HfSpec, FindsTheLanguageModelInsideAnother) {
  EXPECT_EQ(config_file("gemma-3-4b").text_path(), "text_config");
  EXPECT_EQ(config_file("gemma-3-4b").model_type(), "gemma3_text");
  EXPECT_EQ(config_file("internvl2-8b").text_path(), "llm_config");
  EXPECT_EQ(config_file("qwen2-vl-7b").text_path(), "");
  const HfConfig omni = config(R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config":
      {"model_type": "qwen2_5_omni_text", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}}})");
  EXPECT_EQ(omni.text_path(), "thinker_config.text_config");
  EXPECT_EQ(spec_of(omni).groups[0].base, 1e6);
  // No model_type inside: that of the text part of the outer one.
  EXPECT_EQ(spec_of(config(R"({"model_type": "gemma3", "text_config": {"num_hidden_layers": 6}})")).groups.size(), 2U);
}

// MiniCPM 4 leaves its base to code that comes with the model.
TEST(HfSpec, MiniCpmHasTheDefaultsOfItsOwnCode) {
  EXPECT_EQ(spec_of(config(R"({"model_type": "minicpm", "max_position_embeddings": 32768})")).groups[0].base, 10000);
}

TEST(HfSpec, AModelTypeNobodyKnowsNeedsItsFieldsSpeltOut) {
  const std::string shape = R"({"model_type": "mine", "head_dim": 64, "max_position_embeddings": 512)";
  EXPECT_EQ(error_of(config(shape + "}")), "rope_theta: missing, and the default of model_type \"mine\" is not known");
  EXPECT_EQ(spec_of(config(shape + R"(, "rope_theta": 1e4})")).groups[0].rotary_dim, 64);
  EXPECT_EQ(error_of(config(R"({"model_type": "bert", "hidden_size": 768})")), "max_position_embeddings: missing");
  EXPECT_EQ(error_of(config(R"({"model_type": "falcon", "alibi": true})")),
            "alibi: the model uses ALiBi, not a rotary embedding");
  EXPECT_EQ(error_of(config(R"({"model_type": "granitemoehybrid", "position_embedding_type": "nope"})")),
            "position_embedding_type: no layer of this model rotates, so no table limits its length");
}

// Shaped as the files of Muse Glimmer, Granite SWA, MiMo V2 and DeepSeek V4 are: each once got a table on layers that
// keep theirs, or do not rotate.
TEST(HfSpec, AnUnknownModelWithAFieldThatMayShapeItsRotationIsRefusedByTheFieldsName) {
  const std::string shape =
      R"("head_dim": 128, "num_hidden_layers": 4, "max_position_embeddings": 131072, "rope_theta": 5e5,
                              "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],)";
  const auto refused = [&](const std::string& more) {
    const Result<RopeSpec> spec = config(R"({"model_type": "new", )" + shape + more + "}").rope_spec();
    return spec ? "" : spec.error().where;
  };
  EXPECT_EQ(refused(R"("layer_rope_theta": [5e5, 0, 5e5, 0])"), "layer_rope_theta");
  EXPECT_EQ(refused(R"("swa_rope_theta": 10000)"), "swa_rope_theta");
  EXPECT_EQ(refused(R"("compress_rope_theta": 160000)"), "compress_rope_theta");
  EXPECT_EQ(refused(R"("rope_parameters": {"main": {"rope_theta": 1e4}, "compress": {"rope_theta": 1.6e5}})"),
            "rope_parameters.main");
  EXPECT_EQ(refused(R"("rope_parameters": {"full_attention": {"rope_theta": 5e6, "xdrope_section": [1, 2]}})"),
            "rope_parameters.full_attention.xdrope_section");
  EXPECT_EQ(refused(R"("nope_layer_interval": 4)"), "nope_layer_interval");
  EXPECT_EQ(refused(R"("layer_rope_theta": null, "rope_interleave": true, "no_rope_layers": [1, 0, 1, 0])"), "");
  EXPECT_EQ(
      refused(
          R"("rope_parameters": {"full_attention": {"rope_theta": 5e6}, "sliding_attention": {"rope_theta": 1e4}})"),
      "");
}

TEST(HfSpec, AModelOfDualChunkAttentionIsRefused) {
  const std::string plain = test::config_text("qwen2.5-7b");
  const std::string chunks =
      plain.substr(0, plain.rfind('}')) + R"(, "dual_chunk_attention_config": {"chunk_size": 262144}})";
  EXPECT_TRUE(config(plain).rope_spec());
  EXPECT_EQ(config(chunks).rope_spec().error().where, "dual_chunk_attention_config");
}

TEST(HfSpec, NamesOfStrangersCanBeShown) {
  const std::string shape = R"(, "hidden_size": 64, "num_attention_heads": 1, "num_hidden_layers": 2,
                               "max_position_embeddings": 512, "rope_theta": 10000)";
  const HfConfig odd = config(R"({"model_type": "qw\u001b[31men")" + shape + "}");
  EXPECT_EQ(odd.model_type(), "qw?[31men");
  EXPECT_EQ(spec_of(odd).name, "qw?[31men");
  EXPECT_EQ(error_of(config(R"({"rope_scaling": {"rope_type": "\u001b[31mx"})" + shape + "}")),
            "rope_scaling.rope_type: unknown rope type \"?[31mx\"");
  EXPECT_EQ(error_of(config(R"({"rope_parameters": {"\u001b_attention": {"rope_type": "default"}})" + shape + "}")),
            "rope_parameters: expected kinds of layers, found \"?_attention\"");
}

}  // namespace
}  // namespace mrrope

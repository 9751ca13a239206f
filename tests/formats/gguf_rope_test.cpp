// SPDX-License-Identifier: MIT
#include "formats/gguf_rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "mrrope/model_file.h"
#include "tests/support/gguf_models.h"
#include "tests/support/specs.h"

namespace mrrope::formats {
namespace {

using test::gguf_model;

TEST(GgufRope, OfAPlainModelIsItsKeys) {
  const RopeSpec spec = *rope_spec(*read_gguf_rope(gguf_model("llama")));
  EXPECT_EQ(spec.name, "tiny");
  EXPECT_EQ(spec.context_trained, 8192);
  ASSERT_EQ(spec.groups.size(), 1U);
  EXPECT_EQ(spec.groups[0].rotary_dim, 64);
  EXPECT_EQ(spec.groups[0].base, 100000);
  EXPECT_FALSE(spec.groups[0].trained);
}

TEST(GgufRope, DefaultsAreLlamaCpps) {
  GgufModel model = gguf_model("llama");
  std::erase_if(model.shards[0].entries, [](const GgufEntry& e) { return e.key.find("rope.") != std::string::npos; });
  const GgufRope rope = *read_gguf_rope(model);
  EXPECT_EQ(rope.base, 10000);
  EXPECT_EQ(rope.rotary_dim, 64);  // embedding_length / head_count
}

// The key's default is "linear": a factor without a type acts.
TEST(GgufRope, FactorWithoutTypeIsLinear) {
  const RopeSpec spec = *rope_spec(*read_gguf_rope(gguf_model("llama", {{"rope.scaling.factor", GgufValue::f32(4)}})));
  ASSERT_TRUE(spec.groups[0].trained);
  EXPECT_EQ(spec.groups[0].trained->method, Method{Linear{}});
  EXPECT_EQ(trained_table(spec, 0).pair_factors, std::vector<double>(32, 4.0));
}

TEST(GgufRope, TypeNoneSwitchesTheFactorOff) {
  const RopeSpec spec = *rope_spec(*read_gguf_rope(gguf_model(
      "llama", {{"rope.scaling.factor", GgufValue::f32(4)}, {"rope.scaling.type", GgufValue::text("none")}})));
  EXPECT_FALSE(spec.groups[0].trained);
}

TEST(GgufRope, YarnIsTheDeployedOneFromTheOriginalLength) {
  const RopeSpec spec = *rope_spec(
      *read_gguf_rope(gguf_model("qwen2", {{"rope.scaling.factor", GgufValue::f32(4)},
                                           {"rope.scaling.type", GgufValue::text("yarn")},
                                           {"context_length", GgufValue::u32(32768)},
                                           {"rope.scaling.original_context_length", GgufValue::u32(8192)}})));
  EXPECT_EQ(trained_table(spec, 0), table(plain_spectrum(64, 100000, 8192), 4, Yarn{}));
}

// What llama.cpp's context computes: src/llama-context.cpp 175-212 with load_arch_hparams of each architecture. The
// converter writes 1 for Ministral 3, where the scale is then 1, and a tenth of mscale_all_dim for DeepSeek.
TEST(GgufRope, YarnFollowsTheKeysThatItsArchitectureReads) {
  const auto trained = [](const std::string& architecture, double multiplier) {
    const std::map<std::string, GgufValue> keys = {
        {"rope.scaling.factor", GgufValue::f32(4)},
        {"rope.scaling.type", GgufValue::text("yarn")},
        {"rope.scaling.yarn_beta_fast", GgufValue::f32(16)},
        {"rope.scaling.yarn_beta_slow", GgufValue::f32(2)},
        {"rope.scaling.yarn_log_multiplier", GgufValue::f32(static_cast<float>(multiplier))}};
    return trained_table(*rope_spec(*read_gguf_rope(gguf_model(architecture, keys))), 0);
  };
  const auto band = [](double fast, double slow) {
    return table(plain_spectrum(64, 100000, 8192), 4, Yarn{{.beta_fast = fast, .beta_slow = slow}, {}}).pair_factors;
  };
  const auto mscale = [](double k) { return 0.1 * k * std::log(4.0) + 1; };
  EXPECT_EQ(trained("mistral3", 1).pair_factors, band(16, 2));
  EXPECT_EQ(trained("grok", 1).pair_factors, band(16, 2));
  EXPECT_EQ(trained("llama", 1).pair_factors, band(32, 1));
  EXPECT_DOUBLE_EQ(trained("mistral3", 1).attention_scale, 1);
  EXPECT_DOUBLE_EQ(trained("mistral3", 0).attention_scale, mscale(1));
  EXPECT_DOUBLE_EQ(trained("llama", 1).attention_scale, mscale(1));
  EXPECT_DOUBLE_EQ(trained("deepseek2", 0.0707).attention_scale, 1);
  EXPECT_NEAR(trained("deepseek32", 0.05).attention_scale, mscale(1) / mscale(0.5), 1e-7);  // the key is a float32
  EXPECT_NEAR(trained("mistral4", 0.05).attention_scale, mscale(1) / mscale(0.5), 1e-7);
}

TEST(GgufRope, RefusesABandThatNoRampHas) {
  const auto rope = read_gguf_rope(gguf_model("mistral3", {{"rope.scaling.yarn_beta_fast", GgufValue::f32(-1)}}));
  ASSERT_FALSE(rope);
  EXPECT_EQ(rope.error().where, "mistral3.rope.scaling.yarn_*");
}

TEST(GgufRope, SlidingLayersOfGemma3AreAGroupOfTheirOwn) {
  const RopeSpec spec = *rope_spec(*read_gguf_rope(gguf_model(
      "gemma3", {{"attention.sliding_window", GgufValue::u32(512)}, {"rope.scaling.factor", GgufValue::f32(8)}})));
  ASSERT_EQ(spec.groups.size(), 2U);
  EXPECT_EQ(spec.groups[0].layers, (std::vector<int>{5, 11, 17, 23, 29}));
  EXPECT_TRUE(spec.groups[0].trained);
  EXPECT_EQ(spec.groups[1].base, 10000);
  EXPECT_FALSE(spec.groups[1].extended);
  EXPECT_FALSE(spec.groups[1].trained);
}

TEST(GgufRope, RefusesWhatLlamaCppWouldStopOn) {
  const auto error = [](const std::string& key, GgufValue value) {
    const auto rope = read_gguf_rope(gguf_model("llama", {{key, std::move(value)}}));
    return rope ? "accepted" : rope.error().where;
  };
  EXPECT_EQ(error("rope.scaling.type", GgufValue::text("cubic")), "llama.rope.scaling.type");
  EXPECT_EQ(error("context_length", GgufValue::u32(0)), "llama.context_length");
  EXPECT_EQ(error("rope.dimension_count", GgufValue::u32(1U << 30)), "llama.rope.dimension_count");
  EXPECT_EQ(error("rope.dimension_count_swa", GgufValue::u32(2000000000)), "llama.rope.dimension_count_swa");
  EXPECT_EQ(error("rope.dimension_count_swa", GgufValue::f32(-6)), "llama.rope.dimension_count_swa");
  EXPECT_FALSE(read_gguf_rope(GgufModel{{GgufFile{}}}));
}

// llama_logits --check of llama.cpp v0.5.0 agrees with every line: "key … has wrong type … but expected type …".
TEST(GgufRope, RefusesKeysOfATypeThatLlamaCppDoesNotRead) {
  const auto error = [](const std::string& architecture, const std::string& key, GgufValue value) {
    const auto rope = read_gguf_rope(gguf_model(architecture, {{key, std::move(value)}}));
    return rope ? "accepted" : to_string(rope.error());
  };
  const GgufValue f64(GgufType::f64, std::string(8, '\0'));
  const GgufValue i32(GgufType::i32, std::string("\x40\0\0\0", 4));
  EXPECT_EQ(error("llama", "rope.freq_base", GgufValue::u32(1000000)),
            "llama.rope.freq_base: expected f32, found 1000000 (u32); llama.cpp stops on it");
  for (const char* key : {"rope.freq_base", "rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor"}) {
    for (const GgufValue& value : {f64, i32, GgufValue::u32(2), GgufValue::text("2")}) {
      EXPECT_NE(error("llama", key, value), "accepted") << key << " " << value.display();
    }
  }
  for (const char* key :
       {"context_length", "block_count", "embedding_length", "attention.head_count", "attention.key_length",
        "rope.dimension_count", "rope.dimension_count_swa", "rope.scaling.original_context_length"}) {
    for (const GgufValue& value : {f64, i32, GgufValue::u64(64), GgufValue::f32(NAN), GgufValue::text("64")}) {
      EXPECT_NE(error("llama", key, value), "accepted") << key << " " << value.display();
    }
  }
  EXPECT_NE(error("mistral3", "rope.scaling.yarn_beta_fast", GgufValue::u32(32)), "accepted");
  EXPECT_NE(error("mistral3", "attention.temperature_scale", f64), "accepted");
  EXPECT_NE(error("deepseek2", "rope.scaling.yarn_log_multiplier", f64), "accepted");
  EXPECT_NE(error("gemma3", "attention.sliding_window", i32), "accepted");
}

// What llama.cpp does not read may be of any type; counts may be lists with one number for each layer.
TEST(GgufRope, AcceptsAnyTypeUnderKeysThatLlamaCppDoesNotRead) {
  const auto accepts = [](const std::string& architecture, const std::map<std::string, GgufValue>& keys) {
    return read_gguf_rope(gguf_model(architecture, keys)).has_value();
  };
  const GgufValue f64(GgufType::f64, std::string(8, '\0'));
  EXPECT_TRUE(accepts("llama", {{"rope.scaling.factor", GgufValue::f32(2)}, {"rope.scale_linear", f64}}));
  EXPECT_TRUE(accepts("llama", {{"attention.head_count", GgufValue::i32_array(std::vector<std::int32_t>(30, 9))}}));
  EXPECT_TRUE(accepts("qwen2", {{"rope.scaling.yarn_beta_fast", f64}, {"rope.scaling.yarn_log_multiplier", f64}}));
  EXPECT_TRUE(accepts("llama", {{"attention.sliding_window", GgufValue::f32(NAN)}, {"rope.freq_base_swa", f64}}));
}

TEST(GgufRope, RefusesFactorsFromWhichNoTableFollows) {
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    for (const float factor : {NAN, INFINITY, -INFINITY, -2.0F}) {
      const auto rope = read_gguf_rope(gguf_model("llama", {{key, GgufValue::f32(factor)}}));
      ASSERT_FALSE(rope) << key << " " << factor;
      EXPECT_EQ(rope.error().where, std::string("llama.") + key);
    }
  }
}

TEST(GgufRope, NamesOfStrangersCanBeShown) {
  GgufModel model = gguf_model("llama");
  model.shards[0].entries[1].value = GgufValue::text("\x1b[31mevil\nline2\x07");
  EXPECT_EQ(rope_spec(*read_gguf_rope(model))->name, "?[31mevil?line2?");
  EXPECT_EQ(facts_of({"m.gguf", model}).name, "?[31mevil?line2?");
  const GgufModel odd = gguf_model("lla\x1bma");
  EXPECT_EQ(facts_of({"m.gguf", odd}).architecture, "lla?ma");
  EXPECT_EQ(to_string(read_gguf_rope(odd).error()),
            "general.architecture: expected the name of an architecture, found \"lla?ma\"");
}

// Gemma 4: convert_hf_to_gguf writes 1e30 for the pairs that stand still, and as float32 that is more than 1e30.
TEST(GgufRope, PairsThatStandStillSurviveStorageAsFloat32) {
  GgufRope rope = *read_gguf_rope(gguf_model("gemma4"));
  rope.freqs = std::vector<float>(8, 1.0F);
  rope.freqs->resize(32, 1e30F);
  const Result<RopeSpec> spec = rope_spec(rope);
  ASSERT_TRUE(spec) << to_string(spec.error());
  const std::vector<double> speeds = spectrum_of(*spec, 0).inv_freq;
  EXPECT_EQ(speeds[7], plain_spectrum(64, 100000, 8192).inv_freq[7]);
  EXPECT_EQ(speeds[8], 0);
  EXPECT_EQ(speeds[31], 0);
}

// llama.cpp loads the lists of these three whatever the type (src/models/minicpm3.cpp, phi3.cpp, phimoe.cpp), and its
// converter writes no type for MiniCPM3. Elsewhere lists without the type are a load error.
TEST(GgufRope, ListsOfPhiAndMiniCpm3NeedNoType) {
  const auto trained = [](const std::string& architecture) {
    GgufRope rope = *read_gguf_rope(gguf_model(architecture));
    rope.short_factors = std::vector<float>(32, 1.0F);
    rope.long_factors = std::vector<float>(32, 2.0F);
    return rope_spec(rope)->groups[0].trained;
  };
  for (const char* architecture : {"minicpm3", "phi3", "phimoe"}) {
    ASSERT_TRUE(trained(architecture)) << architecture;
    EXPECT_TRUE(std::holds_alternative<LongRope>(trained(architecture)->method.law)) << architecture;
  }
  EXPECT_FALSE(trained("llama"));
}

// A context_length that was raised by hand is no training: what is slower than plain decides how far the model reaches.
TEST(GgufRope, WithoutScalingTheOriginalLengthIsTheTrainedOne) {
  std::map<std::string, GgufValue> keys = {{"context_length", GgufValue::u32(32768)},
                                           {"rope.scaling.original_context_length", GgufValue::u32(8192)}};
  EXPECT_EQ(rope_spec(*read_gguf_rope(gguf_model("llama", keys)))->context_trained, 8192);
  keys["rope.scaling.factor"] = GgufValue::f32(4);
  EXPECT_EQ(rope_spec(*read_gguf_rope(gguf_model("llama", keys)))->context_trained, 32768);
}

// granite-4.0-h: Mamba and four layers of attention, none of which rotates; a plan for them would do nothing.
TEST(GgufRope, GraniteSwitchesItsRotationOffByAKey) {
  const std::map<std::string, GgufValue> off = {{"rope.scaling.finetuned", GgufValue::boolean(false)}};
  EXPECT_EQ(rope_spec(*read_gguf_rope(gguf_model("granitehybrid", off))).error().message,
            "no layer of this model rotates, so no table limits its length");
  EXPECT_TRUE(rope_spec(*read_gguf_rope(gguf_model("granitehybrid"))));
  EXPECT_TRUE(rope_spec(*read_gguf_rope(gguf_model("llama", off))));  // for others it says how they were trained
}

TEST(GgufRope, Llama4HasWindowsWithoutAKey) {
  EXPECT_EQ(read_gguf_rope(gguf_model("llama4"))->sliding_window, 8192);
  const std::map<std::string, GgufValue> off = {{"attention.sliding_window", GgufValue::u32(0)}};
  EXPECT_EQ(read_gguf_rope(gguf_model("llama4", off))->sliding_window, 0);
  EXPECT_EQ(read_gguf_rope(gguf_model("llama"))->sliding_window, 0);
}

// A file that was extended is planned from what it was before, not from the extension.
TEST(GgufRope, OfAnExtendedFileIsTheModelBefore) {
  GgufModel model = gguf_model("llama", {{"context_length", GgufValue::u32(32768)}});
  const Plan plan = *make_plan(test::spec("dim=64,base=100000,ctx=8k"), 32768, MrRopePro{});
  model.shards[0].entries.push_back({"mrrope.plan", GgufValue::text(to_json(plan))});
  EXPECT_EQ(*rope_spec(*read_gguf_rope(model)), plan.spec);
}

}  // namespace
}  // namespace mrrope::formats

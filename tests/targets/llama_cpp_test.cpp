// SPDX-License-Identifier: MIT
#include "targets/llama_cpp.h"

#include <gtest/gtest.h>

#include "tests/support/gguf_models.h"
#include "tests/support/specs.h"

namespace mrrope::targets {
namespace {

using formats::GgufRope;
using formats::read_gguf_rope;
using test::gguf_model;

GgufRope rope(const std::string& architecture, const std::map<std::string, GgufValue>& more = {}) {
  return *read_gguf_rope(gguf_model(architecture, more));
}

Plan plan_for(const GgufRope& r, const std::string& method, std::int64_t target = 32768) {
  return *make_plan(*formats::rope_spec(r), target, test::method(method));
}

Result<Delivery> delivered(const std::string& architecture, const std::string& method, bool relabel = false,
                           const std::map<std::string, GgufValue>& more = {}) {
  const GgufModel model = gguf_model(architecture, more);
  const GgufRope r = *read_gguf_rope(model);
  return llama_cpp_deliver(plan_for(r, method), model, r, {.relabel = relabel});
}

TEST(LlamaCppEffective, PlainFileRotatesPlainly) {
  const Effective e = llama_cpp_effective(rope("llama"), 8192);
  EXPECT_TRUE(e.loads);
  EXPECT_EQ(e.context, 8192);
  EXPECT_EQ(e.groups[0].inv_freq, plain_spectrum(64, 100000, 8192).inv_freq);
  EXPECT_EQ(e.groups[0].attention_scale, 1);
  EXPECT_TRUE(e.notes.empty());
}

// 32 pairs; Qwen 3.5's sections cover all of them, Qwen 3 VL's, halved, leave one of them.
TEST(LlamaCppEffective, SaysWhichPairsOfInterleavedSectionsStandStill) {
  const auto notes = [](const std::string& architecture, std::vector<std::int32_t> sections) {
    return llama_cpp_effective(rope(architecture, {{"rope.dimension_sections", GgufValue::i32_array(sections)}}), 8192)
        .notes;
  };
  EXPECT_TRUE(notes("qwen35", {11, 11, 10, 0}).empty());
  EXPECT_TRUE(notes("qwen2vl", {8, 12, 12, 0}).empty());
  ASSERT_EQ(notes("qwen3vl", {12, 10, 10, 0}).size(), 1);
  EXPECT_EQ(notes("qwen3vl", {12, 10, 10, 0})[0],
            "of text llama.cpp does not turn pair 31: rope.dimension_sections gives it to no position");
  EXPECT_TRUE(notes("qwen3vl", {-1, 0, 0, 0}).empty()) << "ggml stops on it";
}

// Vision models of Qwen: their keys say what those of qwen2 and qwen3 say.
TEST(LlamaCppDeliver, YarnReachesModelsWithSections) {
  for (const char* name : {"qwen2vl", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"}) {
    const std::vector<std::int32_t> sections = {11, 11, 10, 0};
    const auto out = delivered(name, "yarn", false, {{"rope.dimension_sections", GgufValue::i32_array(sections)}});
    ASSERT_TRUE(out) << name;
    EXPECT_LE(out->residual, 1e-6) << name;
  }
}

TEST(LlamaCppEffective, KnowsAllArchitecturesInOrder) {
  EXPECT_EQ(find_architecture("llama")->factors, Factors::freqs_or_lists);
  EXPECT_EQ(find_architecture("qwen2")->factors, Factors::refused);
  EXPECT_EQ(find_architecture("phi3")->factors, Factors::lists);
  EXPECT_EQ(find_architecture("falcon-h1")->factors, Factors::ignored);
  EXPECT_EQ(find_architecture("xverse")->factors, Factors::refused);
  EXPECT_EQ(find_architecture("apertus")->factors, Factors::freqs_or_lists);
  EXPECT_EQ(find_architecture("nonsense"), nullptr);
}

TEST(LlamaCppEffective, FactorTensorOnQwenDoesNotLoad) {
  GgufRope r = rope("qwen2");
  r.freqs = std::vector<float>(32, 2.0F);
  EXPECT_FALSE(llama_cpp_effective(r, 8192).loads);
}

TEST(LlamaCppEffective, FactorTensorOnATrapArchitectureDoesNothing) {
  GgufRope r = rope("falcon-h1");
  r.freqs = std::vector<float>(32, 2.0F);
  const Effective e = llama_cpp_effective(r, 8192);
  EXPECT_TRUE(e.loads);
  EXPECT_EQ(e.groups[0].inv_freq[5], plain_spectrum(64, 100000, 8192).inv_freq[5]);
  EXPECT_FALSE(e.notes.empty());
}

TEST(LlamaCppEffective, LongListIsChosenByTheAllocatedContext) {
  GgufRope r = rope("llama", {{"rope.scaling.type", GgufValue::text("longrope")}});
  r.short_factors = std::vector<float>(32, 1.0F);
  r.long_factors = std::vector<float>(32, 4.0F);
  EXPECT_EQ(llama_cpp_effective(r, 8192).groups[0].inv_freq[0], 1);
  EXPECT_EQ(llama_cpp_effective(r, 8448).groups[0].inv_freq[0], 0.25);
}

TEST(LlamaCppEffective, StaleFactorActsOnTopOfTheTensor) {
  GgufRope r = rope("llama", {{"rope.scaling.factor", GgufValue::f32(4)}});
  r.freqs = std::vector<float>(32, 2.0F);
  EXPECT_EQ(llama_cpp_effective(r, 8192).groups[0].inv_freq[0], 0.125);
}

// Ministral 3 as convert_hf_to_gguf writes it (src/llama-context.cpp 185-202 of llama.cpp: the scale is m(1)/m(1)).
std::map<std::string, GgufValue> ministral3() {
  return {{"context_length", GgufValue::u32(262144)},
          {"rope.scaling.type", GgufValue::text("yarn")},
          {"rope.scaling.factor", GgufValue::f32(16)},
          {"rope.scaling.original_context_length", GgufValue::u32(16384)},
          {"rope.scaling.yarn_beta_fast", GgufValue::f32(16)},
          {"rope.scaling.yarn_beta_slow", GgufValue::f32(1)},
          {"rope.scaling.yarn_log_multiplier", GgufValue::f32(1)},
          {"attention.temperature_scale", GgufValue::f32(0.1F)}};
}

TEST(LlamaCppEffective, Ministral3RunsItsOwnYarn) {
  const EffectiveGroup group = llama_cpp_effective(rope("mistral3", ministral3()), 262144).groups[0];
  const Spectrum plain = plain_spectrum(64, 100000, 16384);
  EXPECT_EQ(group.attention_scale, 1);
  EXPECT_EQ(group.inv_freq, inv_freq(plain, table(plain, 16, Yarn{{.beta_fast = 16}, {}}).pair_factors));
}

// The key also says from where the queries of mistral3 grow warmer (src/models/mistral3.cpp 14), without it
// context_length does.
TEST(LlamaCppDeliver, LeavesTheLengthAloneThatSetsTheTemperature) {
  const auto original = [](const std::map<std::string, GgufValue>& keys) {
    const GgufModel model = gguf_model("mistral3", keys);
    const GgufRope r = *read_gguf_rope(model);
    const Result<Delivery> d = llama_cpp_deliver(plan_for(r, "mrrope-pro", 524288), model, r, {});
    return read_gguf_rope(model, r, d->gguf)->context_original;
  };
  std::map<std::string, GgufValue> keys = ministral3();
  EXPECT_EQ(original(keys), 16384);
  keys.erase("attention.temperature_scale");
  EXPECT_EQ(original(keys), 262144);
  EXPECT_EQ(original({{"attention.temperature_scale", GgufValue::f32(0.1F)}}), 8192);
}

TEST(LlamaCppDeliver, FactorsArriveOnEveryArchitectureThatTakesThem) {
  for (const char* architecture :
       {"llama", "mistral3", "granite", "exaone", "exaone4", "arcee", "phi3", "minicpm3", "apertus"}) {
    for (const char* method : {"mrrope-pro", "yarn", "yarn-rotations", "linear", "ntk", "mrrope-uni+cope"}) {
      const Result<Delivery> d = delivered(architecture, method);
      ASSERT_TRUE(d) << architecture << " " << method << ": " << to_string(d.error());
      EXPECT_LE(d->residual, 1e-6);
      EXPECT_FALSE(d->gguf.tensors.empty());
    }
  }
}

TEST(LlamaCppDeliver, ElsewhereKeysMustSayIt) {
  for (const char* method : {"ntk", "linear", "yarn", "gradient-base", "abf:base=500000", "yarn:attention_scale=1",
                             "yarn:attention_scale=1.05:factor=3.6", "yarn:beta_fast=16:beta_slow=0.5:factor=5"}) {
    const Result<Delivery> d = delivered("qwen2", method);
    ASSERT_TRUE(d) << method << ": " << to_string(d.error());
    EXPECT_TRUE(d->gguf.tensors.empty()) << method;
    EXPECT_LE(d->residual, 1e-6) << method;
  }
}

// Keys say one shift of the band, not two ends; the prediction must notice what they cannot say.
TEST(LlamaCppDeliver, RefusesABandThatKeysCannotSay) {
  for (const char* method : {"yarn:beta_fast=16:factor=5", "yarn:low=2:high=30:factor=5", "mrrope-uni:factor=5"}) {
    EXPECT_FALSE(delivered("qwen2", method)) << method;
    EXPECT_TRUE(delivered("llama", method)) << method;
  }
}

TEST(LlamaCppDeliver, RefusalNamesTheNearestAndTheWayOut) {
  const Result<Delivery> d = delivered("qwen2", "mrrope-pro");
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().code, ErrorCode::unsupported);
  EXPECT_NE(d.error().message.find("yarn, factor 4"), std::string::npos) << d.error().message;
  EXPECT_NE(d.error().message.find("relabelling"), std::string::npos);
  EXPECT_EQ(delivered("gemma2", "mrrope-pro").error().message.find("relabelling"), std::string::npos);
}

// As Qwen3's files for 128k tokens: more of the same is nearer than another base.
TEST(LlamaCppDeliver, MoreOfTheSameIsNearestOnAModelThatShipsYarn) {
  const GgufModel model = gguf_model("qwen3", {{"context_length", GgufValue::u32(131072)},
                                               {"rope.freq_base", GgufValue::f32(1e6F)},
                                               {"rope.scaling.type", GgufValue::text("yarn")},
                                               {"rope.scaling.factor", GgufValue::f32(4)},
                                               {"rope.scaling.original_context_length", GgufValue::u32(32768)}});
  const GgufRope r = *read_gguf_rope(model);
  const Result<Delivery> d = llama_cpp_deliver(plan_for(r, "mrrope-pro", 262144), model, r, {});
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().message.find("Nearest that it can: yarn, factor 8 from 32768"), std::string::npos)
      << d.error().message;
}

TEST(LlamaCppDeliver, RelabelsQwen2AsExaone) {
  const Result<Delivery> d = delivered("qwen2", "mrrope-pro", true);
  ASSERT_TRUE(d) << to_string(d.error());
  EXPECT_EQ(d->gguf.architecture, "exaone");
  EXPECT_EQ(d->gguf.tensors[0].name, "rope_freqs.weight");
  for (const auto& change : d->gguf.changes) EXPECT_TRUE(change.key.starts_with("exaone.")) << change.key;
  EXPECT_FALSE(delivered("gemma2", "mrrope-pro", true));
  EXPECT_FALSE(delivered("qwen3", "mrrope-pro", true));  // tied output
}

// A scale for all layers is not what a plan for the global ones asks for.
TEST(LlamaCppDeliver, DoesNotScaleSlidingLayers) {
  const std::map<std::string, GgufValue> window = {{"attention.sliding_window", GgufValue::u32(512)}};
  EXPECT_TRUE(delivered("gemma3", "linear", false, window));
  EXPECT_FALSE(delivered("gemma3", "linear:attention_scale=1.2", false, window));
}

}  // namespace
}  // namespace mrrope::targets

// SPDX-License-Identifier: MIT
//
// Configs come from strangers. Every field of every fixture is removed, mistyped and overflowed in turn, at every
// depth, and every file is cut short: each must give a spec that check_spec accepts or an error with a place, and never
// a crash (the dev preset runs this under AddressSanitizer).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/formats/hf_fixtures.h"
#include "tests/support/json_paths.h"

namespace mrrope {
namespace {

using test::collect;
using test::config;
using test::error_of;
using test::Json;
using test::Pointer;

const std::vector<Json>& strange_values() {
  static const std::vector<Json> values = {
      nullptr,
      true,
      "x",
      "yarn",
      0,
      -1,
      2.5,
      1e308,
      1LL << 62,
      Json::array(),
      Json::object(),
      Json::array({1e308, -1, "x"}),
      Json{{"full_attention", {{"rope_type", "yarn"}}}, {"sliding_attention", nullptr}}};
  return values;
}

struct Outcome {
  int specs = 0;
  int errors = 0;
};

// Reads everything there is to read.
void read(const std::string& text, Outcome& outcome) {
  const Result<HfConfig> parsed = HfConfig::parse(text);
  if (!parsed) {
    ++outcome.errors;
    return;
  }
  const Result<RopeSpec> spec = parsed->rope_spec();
  if (!spec) {
    ++outcome.errors;
    EXPECT_FALSE(parsed->facts());
    (void)parsed->model_type();
    EXPECT_FALSE(spec.error().message.empty());
    EXPECT_FALSE(spec.error().where.empty()) << to_string(spec.error()) << "\n" << text;
    return;
  }
  ++outcome.specs;
  EXPECT_TRUE(parsed->facts());
  ASSERT_TRUE(check_spec(*spec)) << text;
  for (std::size_t g = 0; g < spec->groups.size(); ++g) {
    const auto pairs = static_cast<std::size_t>(spec->groups[g].rotary_dim / 2);
    EXPECT_EQ(spectrum_of(*spec, g).inv_freq.size(), pairs);
  }
}

// The spec of a text that may have none.
std::optional<RopeSpec> spec_or_nothing(const Json& tree) {
  const Result<HfConfig> parsed = HfConfig::parse(tree.dump());
  if (!parsed) return std::nullopt;
  const Result<RopeSpec> spec = parsed->rope_spec();
  return spec ? std::optional(*spec) : std::nullopt;
}

TEST(HfHostile, EveryFieldRemovedOrMistypedIsASpecOrAnErrorWithAPlace) {
  Outcome outcome;
  int ignored = 0;
  for (const std::string& name : test::config_names()) {
    SCOPED_TRACE(name);
    const Json tree = Json::parse(test::config_text(name));
    const std::optional<RopeSpec> original = spec_or_nothing(tree);
    std::vector<Pointer> paths;
    collect(tree, Pointer(), paths);
    for (const Pointer& path : paths) {
      Json without = tree;
      Json& parent = without[path.parent_pointer()];
      if (parent.is_object()) parent.erase(path.back());
      else parent.erase(static_cast<std::size_t>(std::stoul(path.back())));
      Json changed = tree;
      changed[path] = "x";
      if (spec_or_nothing(without) == original && spec_or_nothing(changed) == original) {
        ++ignored;  // nobody reads this field
        continue;
      }
      read(without.dump(), outcome);
      for (const Json& value : strange_values()) {
        changed[path] = value;
        read(changed.dump(), outcome);
      }
    }
  }
  EXPECT_GT(ignored, 500);
  EXPECT_GT(outcome.specs, 500);
  EXPECT_GT(outcome.errors, 1500);
}

// The same for fields that a file does not have, on the smallest config of each dialect.
TEST(HfHostile, EveryKnownFieldWithAStrangeValueIsASpecOrAnErrorWithAPlace) {
  Outcome outcome;
  const std::vector<std::string> outer = {"rope_scaling",
                                          "rope_parameters",
                                          "rope_theta",
                                          "rope_local_base_freq",
                                          "partial_rotary_factor",
                                          "rotary_pct",
                                          "rotary_dim",
                                          "rotary_emb_base",
                                          "qk_rope_head_dim",
                                          "head_dim",
                                          "layer_types",
                                          "per_layer_config",
                                          "text_config",
                                          "llm_config",
                                          "thinker_config",
                                          "no_rope_layers",
                                          "sliding_window",
                                          "use_sliding_window",
                                          "sliding_window_pattern",
                                          "max_window_layers",
                                          "global_head_dim",
                                          "alibi",
                                          "model_type",
                                          "num_hidden_layers",
                                          "num_key_value_heads",
                                          "max_sequence_length",
                                          "original_max_position_embeddings"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> inner = {
      {"default", {"rope_type", "type", "rope_theta", "partial_rotary_factor"}},
      {"linear", {"factor", "original_max_position_embeddings"}},
      {"dynamic", {"factor", "alpha"}},
      {"yarn",
       {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
        "mscale_all_dim", "truncate"}},
      {"llama3", {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"}},
      {"longrope", {"factor", "original_max_position_embeddings", "short_factor", "long_factor", "attention_factor"}},
      {"proportional", {"factor", "partial_rotary_factor"}}};
  for (const std::string name : {"llama", "gemma3_text", "gemma4_text", "deepseek_v3", "phi3", "gpt_neox", "phimoe",
                                 "hunyuan_v1_dense", "qwen2", "exaone4", "nobody knows"}) {
    SCOPED_TRACE(name);
    const Json tree{{"model_type", name}, {"head_dim", 8}, {"num_hidden_layers", 2}, {"max_position_embeddings", 512}};
    for (const Json& value : strange_values()) {
      for (const std::string& key : outer) {
        Json changed = tree;
        changed[key] = value;
        read(changed.dump(), outcome);
      }
      for (const auto& [type, keys] : inner) {
        for (const std::string& key : keys) {
          Json changed = tree;
          changed["rope_scaling"] =
              Json{{"rope_type", type},           {"rope_theta", 1e4},     {"factor", 2.0},
                   {"low_freq_factor", 1},        {"high_freq_factor", 4}, {"short_factor", {1, 1, 1, 1}},
                   {"long_factor", {1, 2, 3, 4}}, {"long_mscale", 1.1},    {"short_mscale", 1}};
          changed["rope_scaling"][key] = value;
          read(changed.dump(), outcome);
        }
      }
    }
  }
  EXPECT_GT(outcome.specs, 1500);
  EXPECT_GT(outcome.errors, 2000);
}

TEST(HfHostile, AFileCutAnywhereIsRefused) {
  for (const std::string name : {"llama-2-7b", "gemma-3-4b", "universal-longrope"}) {
    const std::string text = test::config_text(name);
    for (std::size_t length = 0; length + 2 < text.size(); ++length) {
      ASSERT_FALSE(HfConfig::parse(text.substr(0, length))) << name << " " << length;
    }
  }
}

TEST(HfHostile, RefusesWhatIsNoConfig) {
  for (const std::string text : {"", "[]", "1", "null", "\"x\"", "{\"a\": 1, \"a\": 2}", "{\"a\": NaN}", "{} {}"}) {
    EXPECT_FALSE(HfConfig::parse(text)) << text;
  }
  EXPECT_FALSE(HfConfig::parse(std::string(kMaxHfConfigBytes + 1, ' ')));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"text_config\":";
  EXPECT_FALSE(HfConfig::parse(deep));
}

TEST(HfHostile, ErrorsNameTheFieldInTheWordsOfTheFile) {
  const std::string head = R"({"model_type": "llama", "head_dim": 8, "max_position_embeddings": 4096, )";
  const std::string yarn = head + R"("rope_scaling": {"rope_type": "yarn", "factor": 4, )";
  const std::string lists = head + R"("rope_scaling": {"rope_type": "longrope", "factor": 4, )";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {head + R"("rope_theta": 1})", "rope_theta: expected a base above 1, found 1"},
      {head + R"("rope_theta": "1e4"})", "rope_theta: expected a number, found a string"},
      {head + R"("rope_scaling": "yarn"})", "rope_scaling: expected an object, found a string"},
      {head + R"("rope_scaling": {"rope_type": "ntk"}})", "rope_scaling.rope_type: unknown rope type \"ntk\""},
      {head + R"("rope_scaling": {"type": "linear", "factor": 0.5}})",
       "rope_scaling.factor: expected a number between 1 and 1048576, found 0.5"},
      {yarn + R"("beta_fast": -1}})", "rope_scaling.beta_fast: expected a value between 1e-06 and 1e+09, found -1"},
      {yarn + R"("beta_fast": 1, "beta_slow": 2}})",
       "rope_scaling.beta_fast: expected at least as many turns as beta_slow"},
      {yarn + R"("attention_factor": 0}})",
       "rope_scaling.attention_factor: expected a number between 1e-06 and 1000000, found 0"},
      {yarn + R"("truncate": 1}})", "rope_scaling.truncate: expected true or false, found a number"},
      {head + R"("rope_scaling": {"rope_type": "mrope", "mrope_section": [1, 1, 1, 1, 1]}})",
       "rope_scaling.mrope_section: expected at most 4 sections, found 5"},
      {lists + R"("short_factor": [1, 1], "long_factor": [1, 1, 1, 1]}})",
       "rope_scaling.short_factor: expected 4 factors, one per rotated pair, found 2"},
      {lists + R"("short_factor": [1, 1, 1, 1], "long_factor": [1, 1, 0, 1]}})",
       "rope_scaling.long_factor[2]: expected a number between 1e-06 and 1e+30, found 0"},
      {lists + R"("short_factor": [1, 1, 1, 1], "long_factor": [1, "1"]}})",
       "rope_scaling.long_factor[1]: expected a number, found a string"},
      {R"({"model_type": "gemma3", "text_config": {"num_hidden_layers": 2, "layer_types": ["full_attention"]}})",
       "text_config.layer_types: expected 2 layers, found 1"},
      {R"({"model_type": "gemma3", "text_config": {"rope_parameters": {"full_attention": {"rope_theta": null,
          "rope_type": "linear", "factor": "8"}}}})",
       "text_config.rope_parameters.full_attention.factor: expected a number, found a string"},
      {R"({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 9})",
       "hidden_size: 8 in 9 heads make heads of size 0"},
      {R"({"model_type": "llama", "head_dim": 7})",
       "head_dim: 7 of 7 dimensions per head would turn; expected an even number"},
      {R"({"model_type": 7})", "model_type: expected a string, found a number"},
      {R"({"text_config": []})", "text_config: expected an object, found a list"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(error_of(config(text)), message) << text;
}

}  // namespace
}  // namespace mrrope

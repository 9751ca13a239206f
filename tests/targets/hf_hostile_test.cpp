// SPDX-License-Identifier: MIT
//
// A config.json that no engine would write: whatever stands in a field, every function that takes a model returns. doctor
// once ended in an exception, of a field that rope_spec() does not read.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "mrrope/mrrope.h"

namespace mrrope {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFields =
    "alibi attention_k_eq_v conv_L_cache full_attn_idxs global_head_dim head_dim hidden_size "
    "index_head_dim kv_lora_rank layer_types mamba_d_state max_position_embeddings max_window_layers "
    "model_type no_rope_layers no_rope_layer_interval num_attention_heads num_hidden_layers "
    "num_key_value_heads num_kv_shared_layers original_max_position_embeddings partial_rotary_factor "
    "per_layer_config qk_rope_head_dim rope_local_base_freq rope_parameters rope_scaling rope_theta "
    "rotary_dim rotary_emb_base rotary_pct sliding_window sliding_window_pattern text_config "
    "use_sliding_window v_head_dim";

// True if the model has a table.
bool ask_everything(const ModelFile& model) {
  const Result<RopeSpec> spec = rope_spec(model);
  (void)facts_of(model);
  (void)was_extended(model);
  (void)examine(model);
  (void)kv_cache(model, 4096);
  if (!spec) return false;
  const Result<Plan> plan = recommend(model, 2 * spec->context_trained);
  if (!plan) return true;
  (void)hf_overrides(*plan, *model.hf());
  (void)extend_model(model, *plan, {.dry_run = true});
  return true;
}

int ask_of(Json config, const std::string& field, const Json& value) {
  config[Json::json_pointer(field)] = value;
  const Result<HfConfig> parsed = HfConfig::parse(config.dump());
  return parsed && ask_everything({"config.json", *parsed}) ? 1 : 0;
}

TEST(HfHostile, NoFunctionThrowsWhateverStandsInAField) {
  const Json list(4, 1.5);
  const Json table{{"rope_type", "longrope"}, {"factor", 4.0},       {"original_max_position_embeddings", 64},
                   {"short_factor", list},    {"long_factor", list}, {"attention_factor", 1.2}};
  const Json yarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}};
  const Json per_kind{{"full_attention", table},
                      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
  int tables = 0;
  for (const auto& [model_type, key, rope] : {std::tuple("llama", "rope_scaling", Json::object()),
                                              {"gpt_neox", "rope_scaling", yarn},
                                              {"gemma3_text", "rope_parameters", per_kind},
                                              {"deepseek_v3", "rope_scaling", yarn}}) {
    const Json config{{"model_type", model_type},       {"head_dim", 8},     {"num_hidden_layers", 2},
                      {"max_position_embeddings", 256}, {"hidden_size", 64}, {"num_attention_heads", 8},
                      {"qk_rope_head_dim", 8},          {"rope_theta", 1e4}, {key, rope}};
    std::vector<std::string> places;
    std::istringstream words(kFields);
    for (std::string field; words >> field;) places.push_back("/" + field);
    for (const auto& [field, value] : rope.items()) places.push_back("/" + std::string(key) + "/" + field);
    for (const std::string& place : places) {
      for (const Json& value : {Json("x"), Json::array(), Json::object(), Json(-1), Json(0.5), Json(5e18)}) {
        EXPECT_NO_THROW(tables += ask_of(config, place, value)) << model_type << " " << place << " " << value;
      }
    }
  }
  EXPECT_GT(tables, 300);
}

}  // namespace
}  // namespace mrrope

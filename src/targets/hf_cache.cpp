// SPDX-License-Identifier: MIT
//
// Names and defaults of fields: transformers 5.22, configuration_*.py.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/hf_shape.h"
#include "mrrope/spec.h"
#include "targets/cache_layout.h"

namespace mrrope::targets {

namespace {

using formats::HfModel;
using formats::HfShape;
using formats::Place;

constexpr std::int64_t kMaxSize = 1 << 24;  // of anything counted here: far above any model

double size_in(const formats::Scope& fields, std::string_view key, double fallback = 0) {
  const Place place = fields.find(key);
  return place ? static_cast<double>(formats::integer(place, 0, kMaxSize)) : fallback;
}

bool has_state(std::string_view kind) { return kind == "linear_attention" || kind == "conv"; }

// Of each layer; older files of LFM2 and Bamba number the layers with attention.
std::vector<std::string> kinds_of(const HfModel& model, const HfShape& shape) {
  const Place numbered = model.fields.find_any({"full_attn_idxs", "attn_layer_indices"});
  if (!numbered || model.fields.find("layer_types")) return shape.kinds;
  std::vector<std::string> kinds(shape.kinds.size(), "linear_attention");
  for (const double layer : formats::numbers(numbered, 0, kMaxLayers - 1)) {
    if (const auto at = static_cast<std::size_t>(layer); at < kinds.size()) kinds[at] = "full_attention";
  }
  return kinds;
}

// Layers from here on use the keys of an earlier one.
std::size_t with_own_keys(const HfModel& model, std::size_t layers) {
  const double shared = size_in(model.fields, "num_kv_shared_layers", model.cls.model_type == "gemma3n_text" ? 15 : 0);
  return layers - std::min(layers, static_cast<std::size_t>(shared));
}

// Gemma 4 has fewer in full layers, in either of its spellings.
double key_heads(const HfModel& model, const HfShape& shape, std::string_view kind, std::size_t layer) {
  const double usual = shape.facts.kv_heads;
  if (const Place table = model.fields.find("per_layer_config")) {
    const Place row = formats::Scope(*table.value, table.path).find(std::to_string(layer));
    return row ? size_in(formats::Scope(*row.value, row.path), "num_key_value_heads", usual) : usual;
  }
  const Place same = model.fields.find("attention_k_eq_v");
  if (kind != "full_attention" || !same || !formats::boolean(same)) return usual;
  return size_in(model.fields, "num_global_key_value_heads", usual);
}

// Sparse attention: keys by which a layer chooses what to read.
double indexer(const HfModel& model, std::size_t layer) {
  const Place types = model.fields.find("indexer_types");
  if (types && types.value->is_array() && layer < types.value->size() && (*types.value)[layer] == "shared") return 0;
  return size_in(model.fields, "index_head_dim");
}

// Of one layer; 0: fields of a kind that is not known here.
double state_bytes(const HfModel& model) {
  constexpr double kFloat32 = 4;
  const formats::Scope& fields = model.fields;
  const double hidden = size_in(fields, "hidden_size", model.cls.hidden);
  if (const double length = size_in(fields, "conv_L_cache"); length > 0) {  // LFM2
    return kFloat32 * hidden * (length - 1);
  }
  const auto state_space = [&](double kernel, double inner, double groups, double state) {
    return kFloat32 * (std::max(kernel - 1, 0.0) * (inner + 2 * groups * state) + state * inner);
  };
  // Gated delta nets of Qwen 3 Next and 3.5: heads of values and of keys are what channels and groups are to Mamba 2
  if (model.cls.is(formats::kLinearOthers) || fields.find("linear_num_value_heads")) {
    const double inner = size_in(fields, "linear_num_value_heads", 32) * size_in(fields, "linear_value_head_dim", 128);
    return state_space(size_in(fields, "linear_conv_kernel_dim", 4), inner, size_in(fields, "linear_num_key_heads", 16),
                       size_in(fields, "linear_key_head_dim", 128));
  }
  // Mamba 2: Granite 4, Falcon H1, Bamba
  if (!fields.find("mamba_d_state")) return 0;
  const double inner = size_in(fields, "mamba_d_ssm", size_in(fields, "mamba_expand", 2) * hidden);
  return state_space(size_in(fields, "mamba_d_conv", 4), inner, size_in(fields, "mamba_n_groups", 1),
                     size_in(fields, "mamba_d_state"));
}

CacheLayout layout_of(const HfModel& model) {
  const HfShape shape = formats::read_shape(model);
  const std::vector<std::string> kinds = kinds_of(model, shape);
  const std::size_t own = with_own_keys(model, kinds.size());
  const double latent = shape.facts.kv_lora_rank;
  CacheLayout out;
  out.window = shape.facts.sliding_window;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string& kind = kinds[i];
    if (has_state(kind) || model.cls.model_type == "falcon_h1") {
      ++out.recurrent_layers;
      out.state_bytes += state_bytes(model);
    }
    if (has_state(kind) || i >= own) continue;
    const double head = formats::head_dim(model, kind, static_cast<int>(i));
    const double elements = latent > 0
                                ? latent + head + indexer(model, i)
                                : key_heads(model, shape, kind, i) * (head + size_in(model.fields, "v_head_dim", head));
    const bool sliding = formats::is_local(kind) && out.window > 0;
    (sliding ? out.sliding : out.full[1]) += elements;
    ++(sliding ? out.sliding_layers : out.full_layers);
  }
  return out;
}

}  // namespace

CacheLayout hf_cache(const HfConfig& config) {
  const Result<base::Json> root = base::parse_json(config.text());
  if (!root) return {};
  try {
    return layout_of(formats::find_model(*root));
  } catch (const base::Rejected&) {
    return {};
  }
}

}  // namespace mrrope::targets

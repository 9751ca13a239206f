// SPDX-License-Identifier: MIT
#include "formats/hf_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mrrope/units.h"

namespace mrrope::formats {

namespace {

using base::Json;

constexpr std::int64_t kMaxSize = 1 << 24;  // of hidden_size and the like: far above any model

// Every spelling at once, and nothing assumed.
constexpr HfClass kUnknown{"", 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, kPartial | kNeoxNames | kRotaryDim | kAlpha | kPattern};

// A whole number from the file, else the default of the class, else 0; noted as a fact.
std::int64_t size_of(const HfModel& model, HfFacts& facts, std::string_view name,
                     std::initializer_list<std::string_view> keys, std::int64_t min, std::int64_t max,
                     std::int64_t by_default) {
  const Place place = model.fields.find_any(keys);
  const std::int64_t value = place ? integer(place, min, max) : by_default;
  if (value != 0) {
    facts.sources.push_back({std::string(name), std::to_string(value), place ? place.path : model.by_default()});
  }
  return value;
}

const Json* member(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::vector<std::string> listed_kinds(const Place& list, int layers) {
  if (!list.value->is_array() || list.value->size() > static_cast<std::size_t>(kMaxLayers)) {
    reject(list.path, ErrorCode::malformed, fmt::format("expected a list of at most {} strings", kMaxLayers));
  }
  std::vector<std::string> kinds;
  for (const Json& element : *list.value) {
    std::string kind = text({&element, fmt::format("{}[{}]", list.path, kinds.size())});
    if (kind == "attention") kind = "full_attention";  // names of older files
    if (kind == "mamba") kind = "linear_attention";
    kinds.push_back(std::move(kind));
  }
  if (layers != 0 && kinds.size() != static_cast<std::size_t>(layers)) {
    reject(list.path, ErrorCode::inconsistent, fmt::format("expected {} layers, found {}", layers, kinds.size()));
  }
  return kinds;
}

// The window in use; 0: none.
std::int64_t window(const HfModel& model, HfFacts& facts) {
  const Place use = model.fields.find("use_sliding_window");
  if (use ? !boolean(use) : model.cls.is(kWindowSwitch)) return 0;
  // null says that there is none; only a missing field means the default.
  const std::int64_t by_default = model.fields.has("sliding_window") ? 0 : model.cls.window;
  if (model.cls.is(kChunkedOthers)) {
    return size_of(model, facts, "attention chunk", {"attention_chunk_size"}, 1, kMaxContext, model.cls.window);
  }
  return size_of(model, facts, "sliding window", {"sliding_window"}, 0, kMaxContext, by_default);
}

std::vector<std::string> layer_kinds(const HfModel& model, const HfFacts& facts) {
  if (const Place list = model.fields.find("layer_types")) return listed_kinds(list, facts.layers);
  std::vector<std::string> kinds(static_cast<std::size_t>(facts.layers), "full_attention");
  std::string others = "sliding_attention";
  if (model.cls.is(kLinearOthers)) others = "linear_attention";
  else if (model.cls.is(kChunkedOthers)) others = "chunked_attention";
  else if (facts.sliding_window == 0 && !model.cls.is(kByLayerType)) return kinds;

  int first = 0;  // of the layers that are not full
  int every = model.cls.full_every;
  if (model.cls.is(kPattern)) {
    if (const Place p = model.fields.find("sliding_window_pattern"); p && p.value->is_number()) {
      every = static_cast<int>(integer(p, 1, kMaxLayers));
    }
  } else if (model.cls.is(kWindowSwitch)) {
    const Place p = model.fields.find("max_window_layers");
    first = p ? static_cast<int>(integer(p, 0, kMaxLayers)) : 28;
  }
  for (int i = first; i < facts.layers; ++i) {
    if (every == 0 || (i + 1) % every != 0) kinds[static_cast<std::size_t>(i)] = others;
  }
  // Its last layer must look far (Gemma 4).
  if (model.cls.is(kGlobalHeadDim) && !kinds.empty()) kinds.back() = "full_attention";
  return kinds;
}

bool keeps_keys(std::string_view kind) noexcept { return kind != "linear_attention" && kind != "conv"; }

}  // namespace

std::string HfModel::by_default() const { return "default of " + std::string(cls.model_type); }

bool is_local(std::string_view kind) noexcept {
  return kind.find("sliding") != std::string_view::npos || kind.find("chunked") != std::string_view::npos ||
         kind.find("local") != std::string_view::npos;
}

HfModel find_model(const Json& root) {
  // Rejected is thrown here if the top is no object; parse() has seen to that.
  HfModel model{.object = &root, .fields = Scope(root, ""), .path = "", .model_type = "", .cls = kUnknown};
  std::string outer;
  if (const Place type = model.fields.find("model_type")) outer = text(type);
  for (const std::string_view key : {"thinker_config", "text_config", "llm_config", "language_config"}) {
    const Json* inner = member(*model.object, key);
    if (inner == nullptr) continue;
    model.path = join_path(model.path, key);
    model.fields = Scope(*inner, model.path);
    model.object = inner;
  }
  const Place type = model.fields.find("model_type");
  model.model_type = type ? text(type) : outer;
  if (const HfClass* cls = find_hf_class(model.model_type)) model.cls = *cls;
  return model;
}

HfShape read_shape(const HfModel& model) {
  const HfClass& cls = model.cls;
  HfShape shape;
  HfFacts& facts = shape.facts;
  // Names after the first are those of GPT-J and Falcon.
  facts.layers =
      static_cast<int>(size_of(model, facts, "layers", {"num_hidden_layers", "n_layer"}, 1, kMaxLayers, cls.layers));
  facts.heads =
      static_cast<int>(size_of(model, facts, "heads", {"num_attention_heads", "n_head"}, 1, kMaxSize, cls.heads));
  // A file that names its heads but no KV heads has as many of them, unless its class says otherwise.
  const bool own_heads = static_cast<bool>(model.fields.find("num_attention_heads"));
  const int kv = own_heads && cls.kv_heads == cls.heads ? facts.heads : cls.kv_heads;
  facts.kv_heads =
      static_cast<int>(size_of(model, facts, "KV heads", {"num_key_value_heads", "num_kv_heads"}, 1, kMaxSize, kv));
  if (cls.is(kMla) || !model.known()) {
    facts.kv_lora_rank = static_cast<int>(size_of(model, facts, "KV latent", {"kv_lora_rank"}, 0, kMaxSize, 0));
  }
  shape.context = size_of(model, facts, "max_position_embeddings", {"max_position_embeddings", "n_positions"}, 7,
                          kMaxContext, cls.context);
  if (shape.context == 0) reject(model.fields.path("max_position_embeddings"), ErrorCode::malformed, "missing");
  facts.sliding_window = window(model, facts);

  shape.kinds = layer_kinds(model, facts);
  facts.layers = static_cast<int>(shape.kinds.size());
  for (const std::string& kind : shape.kinds) {
    facts.attention_layers += keeps_keys(kind) ? 1 : 0;
    facts.sliding_layers += is_local(kind) ? 1 : 0;
  }
  return shape;
}

int head_dim(const HfModel& model, std::string_view kind, int layer, std::vector<HfFact>* sources) {
  const HfClass& cls = model.cls;
  const auto known = [&](std::int64_t value, std::string source) {
    if (sources != nullptr) sources->push_back({"head_dim", std::to_string(value), std::move(source)});
    return static_cast<int>(value);
  };
  const auto from = [&](const Place& place) { return known(integer(place, 1, kMaxRotaryDim), place.path); };

  // One layer's own size: per_layer_config {"5": {"head_dim": 512}}, or Gemma 4's older spelling of the same.
  if (const Place table = model.fields.find("per_layer_config")) {
    const Scope rows(*table.value, table.path);
    if (const Place row = rows.find(std::to_string(layer))) {
      if (const Place own = Scope(*row.value, row.path).find("head_dim")) return from(own);
    }
  } else if (cls.is(kGlobalHeadDim) && kind == "full_attention") {
    const Place global = model.fields.find("global_head_dim");
    return global ? from(global) : known(512, model.by_default());
  }

  if (cls.is(kMla) || !model.known()) {
    if (const Place rope = model.fields.find("qk_rope_head_dim")) return from(rope);
  }
  if (!cls.is(kMla)) {
    if (const Place own = model.fields.find("head_dim")) return from(own);
  }
  if (cls.head_dim != 0 && (cls.is(kMla) || !model.fields.has("head_dim"))) {
    return known(cls.head_dim, model.by_default());
  }
  const Place hidden = model.fields.find_any({"hidden_size", "n_embd"});
  const Place heads = model.fields.find_any({"num_attention_heads", "n_head"});
  const std::int64_t width = hidden ? integer(hidden, 1, kMaxSize) : cls.hidden;
  const std::int64_t count = heads ? integer(heads, 1, kMaxSize) : cls.heads;
  if (width == 0) reject(hidden.path, ErrorCode::malformed, "missing; neither is head_dim there");
  if (count == 0) reject(heads.path, ErrorCode::malformed, "missing; neither is head_dim there");
  const std::int64_t size = width / count;
  if (size < 1 || size > kMaxRotaryDim) {
    reject(hidden.path, ErrorCode::inconsistent,
           fmt::format("{} in {} heads make heads of size {}", width, count, size));
  }
  return known(size, "hidden_size / num_attention_heads");
}

std::vector<int> rotating_layers(const HfModel& model, const HfShape& shape) {
  const int layers = shape.facts.layers;
  std::vector<int> rotating;
  const Place list = model.fields.find("no_rope_layers");
  if (list && list.value->is_array() && !list.value->empty()) {  // 1: this layer does turn
    const std::vector<double> flags = numbers(list, 0, 1);
    if (flags.size() != static_cast<std::size_t>(layers)) {
      reject(list.path, ErrorCode::inconsistent, fmt::format("expected {} layers, found {}", layers, flags.size()));
    }
    for (int i = 0; i < layers; ++i) {
      if (flags[static_cast<std::size_t>(i)] != 0) rotating.push_back(i);
    }
  } else if (model.cls.is(kFourthWithoutRope)) {
    const Place interval = model.fields.find("no_rope_layer_interval");
    const auto every = interval ? integer(interval, 1, kMaxLayers) : 4;
    for (int i = 0; i < layers; ++i) {
      if ((i + 1) % every != 0) rotating.push_back(i);
    }
  } else if (model.cls.is(kFullWithoutRope) && shape.facts.sliding_window != 0) {
    for (int i = 0; i < layers; ++i) {
      if (is_local(shape.kinds[static_cast<std::size_t>(i)])) rotating.push_back(i);
    }
  } else {
    return {};
  }
  if (rotating.empty())
    reject(model.fields.path("no_rope_layers"), ErrorCode::unsupported, "no layer has a rotary embedding");
  if (rotating.size() == static_cast<std::size_t>(layers)) rotating.clear();
  return rotating;
}

}  // namespace mrrope::formats

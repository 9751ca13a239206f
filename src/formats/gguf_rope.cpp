// SPDX-License-Identifier: MIT
#include "formats/gguf_rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "formats/gguf_bytes.h"
#include "formats/gguf_edit.h"
#include "formats/gguf_keys.h"
#include "formats/gguf_windows.h"
#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/units.h"
#include "theory/laws.h"

namespace mrrope::formats {

namespace {

constexpr std::size_t kShownName = 256;  // bytes of a general.name
constexpr std::string_view kFreqs = "rope_freqs.weight";
constexpr std::string_view kLong = "rope_factors_long.weight";
constexpr std::string_view kShort = "rope_factors_short.weight";

// Architectures whose sliding layers have a table of their own; every other architecture uses one for all layers.
struct SlidingArchitecture {
  std::string_view name;
  SlidingBase base = SlidingBase::own;  // without rope.freq_base_swa; own: 10000
  int full_share = 1;                   // full layers rotate 1/full_share of rope.dimension_count
};
constexpr std::array<SlidingArchitecture, 11> kSliding = {{
    {.name = "dots3note"},
    {.name = "gemma-embedding"},
    {.name = "gemma3"},
    {.name = "gemma3n"},
    {.name = "gemma4"},
    {.name = "laguna", .base = SlidingBase::inherit},
    {.name = "mellum", .base = SlidingBase::shared},
    {.name = "mimo2"},
    {.name = "olmo2", .base = SlidingBase::shared},
    {.name = "plamo3"},
    {.name = "step35", .full_share = 2},
}};

// Architectures whose factor lists act whatever rope.scaling.type says; others look for them with type longrope only.
constexpr std::array<std::string_view, 3> kListsWithoutType = {"minicpm3", "phi3", "phimoe"};

const SlidingArchitecture* sliding_architecture(std::string_view name) {
  const auto* found = std::find_if(kSliding.begin(), kSliding.end(), [&](const auto& a) { return a.name == name; });
  return found != kSliding.end() ? found : nullptr;
}

bool lists_act(const GgufRope& rope) {
  if (!rope.long_factors || !rope.short_factors) return false;
  return rope.scaling_type == "longrope" ||
         std::find(kListsWithoutType.begin(), kListsWithoutType.end(), rope.architecture) != kListsWithoutType.end();
}

// Granite uses this key as a switch for rotation; it rotates without it (src/models/granite-hybrid.cpp 16-20).
bool does_not_rotate(const GgufModel& model) {
  const GgufValue* finetuned = model.find("rope.scaling.finetuned");
  return finetuned != nullptr && model.architecture().starts_with("granite") && finetuned->number() == 0;
}

Error broken(const GgufModel& model, std::string_view key, std::string message) {
  return {ErrorCode::malformed, std::move(message), model.architecture() + "." + std::string(key)};
}

// Architectures with three positions per token, whose pairs turn by them in turns (ggml-cpu/ops.cpp,
// ggml_mrope_cache_init): pair i by number i % 3, if that section is longer than i / 3, else by a fourth position,
// which is 0 of text. Of Qwen 3 VL (24, 20, 20) these are pairs 61 and 62 of 64, which turn once in 15 million tokens.
constexpr std::array<std::string_view, 6> kInterleavedSections = {"qwen35",  "qwen35moe",  "qwen3tts",
                                                                  "qwen3vl", "qwen3vlmoe", "qwen4exp"};

std::vector<int> still_pairs(const GgufModel& model, std::string_view architecture, int pairs) {
  const auto* known = std::find(kInterleavedSections.begin(), kInterleavedSections.end(), architecture);
  const GgufValue* key = model.find("rope.dimension_sections");
  const auto sections = key != nullptr ? key->numbers() : std::nullopt;
  if (known == kInterleavedSections.end() || !sections || sections->size() < 3) return {};
  const double sum = std::accumulate(sections->begin(), sections->end(), 0.0);
  if (!(sum >= 1 && sum <= kMaxRotaryDim)) return {};
  std::vector<int> out;
  for (int i = 0; i < pairs; ++i) {
    const int sector = i % static_cast<int>(sum);
    if (!(sector < 3 * (*sections)[static_cast<std::size_t>(sector % 3)])) out.push_back(i);
  }
  return out;
}

// `rotary_dim`: of the sliding layers.
std::optional<SlidingRope> sliding_of(const GgufModel& model, KeyReader& keys, int layers, int rotary_dim,
                                      double full_base) {
  const SlidingArchitecture* known = sliding_architecture(model.architecture());
  if (known == nullptr) return std::nullopt;
  const GgufWindows windows = read_windows(model, keys, layers);
  if (windows.tokens == 0) return std::nullopt;
  const bool own_key = known->base != SlidingBase::shared && model.find("rope.freq_base_swa") != nullptr;
  const double fallback = known->base == SlidingBase::own ? 10000 : full_base;
  SlidingRope sliding{.base = own_key ? keys.f32("rope.freq_base_swa", fallback) : fallback,
                      .rotary_dim = rotary_dim,
                      .source = own_key ? SlidingBase::own : known->base,
                      .layers = {}};
  for (int i = 0; i < layers; ++i) {
    if (windows.slides[static_cast<std::size_t>(i)]) sliding.layers.push_back(i);
  }
  return sliding;
}

// Type yarn with the keys that the architecture reads (load_arch_hparams in src/models). Its scale is m(1)/m(k)
// [T18] with k from yarn_log_multiplier (src/llama-context.cpp 185-202), where the converter writes k / 10 for
// DeepSeek.
Yarn yarn_of(const std::string& name, KeyReader& keys) {
  Yarn yarn;
  if (name == "grok" || name == "mistral3") {
    yarn.band.beta_fast = keys.f32("rope.scaling.yarn_beta_fast", name == "grok" ? 8 : 32);
    yarn.band.beta_slow = keys.f32("rope.scaling.yarn_beta_slow", 1);
  }
  constexpr std::string_view multiplier_key = "rope.scaling.yarn_log_multiplier";
  if (name == "mistral3") yarn.attention.mscale_all_dim = keys.f32(multiplier_key, 0);
  if (name == "deepseek2" || name == "deepseek32" || name == "mistral4") {
    const double multiplier = keys.f32(multiplier_key, 0);
    yarn.attention.mscale_all_dim = multiplier / 0.1;
    if (name == "deepseek2" && multiplier != 0) yarn.attention.mscale = yarn.attention.mscale_all_dim;
  }
  return yarn;
}

// `stored`: the size of the tensor; `pairs`: how many of them the full layers use.
Result<std::optional<std::vector<float>>> factors_of(const GgufModel& model, const FactorReader& read,
                                                     std::string_view name, int stored, int pairs) {
  if (model.find_tensor(name) == nullptr) return std::optional<std::vector<float>>();
  Result<std::vector<float>> values = read(model, name);
  if (!values) return values.error();
  if (values->size() != static_cast<std::size_t>(stored)) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("expected {} factors, one per rotated pair, found {}", stored, values->size()),
                 std::string(name)};
  }
  for (const float f : *values) {
    if (!(f > 0) || !std::isfinite(f)) {
      return Error{ErrorCode::invalid_argument, "expected positive factors", std::string(name)};
    }
  }
  values->resize(static_cast<std::size_t>(pairs));
  return std::optional(*std::move(values));
}

// Pairs that stand still have a factor of 1e30 (Gemma 4), which float32 rounds to a little more.
std::vector<double> doubles(const std::vector<float>& values) {
  std::vector<double> out(values.begin(), values.end());
  for (double& factor : out) factor = std::min(factor, kNoRotation);
  return out;
}

}  // namespace

std::string name_of(const GgufModel& model) {
  const GgufValue* name = model.head().find("general.name");
  return name != nullptr ? printable(name->text().value_or(""), kShownName) : "";
}

Result<GgufRope> read_gguf_rope(const GgufModel& model, const FactorReader& read) {
  GgufRope rope;
  rope.architecture = model.architecture();
  if (rope.architecture.empty()) {
    return Error{ErrorCode::unsupported, "no general.architecture: this file is not a model", model.head().path};
  }
  // From here on it can be shown, and still is the prefix of the keys
  if (const std::string shown = printable(rope.architecture); shown != rope.architecture) {
    return Error{ErrorCode::unsupported, fmt::format("expected the name of an architecture, found \"{}\"", shown),
                 "general.architecture"};
  }
  rope.name = name_of(model);
  if (const GgufValue* plan = model.head().find("mrrope.plan")) {
    if (const auto text = plan->text()) rope.plan = std::string(*text);
  }

  // Sizes
  KeyReader keys(model);
  const double layers = keys.u32("block_count", 0);
  const double context = keys.u32("context_length", 0);
  const double original = keys.u32("rope.scaling.original_context_length", context);
  const double heads = keys.largest_count("attention.head_count");
  const double width = keys.u32("embedding_length", 0);
  const double head = heads > 0 ? keys.u32("attention.key_length", width / heads) : 0;
  const double dim = heads > 0 ? keys.u32("rope.dimension_count", head) : 0;
  const double sliding_dim = keys.u32("rope.dimension_count_swa", dim);
  if (!keys.types()) return keys.types().error();
  if (!(context >= 1 && context <= static_cast<double>(kMaxContext))) {
    return broken(model, "context_length", "expected a length in tokens");
  }
  if (!(layers >= 0 && layers <= kMaxLayers)) return broken(model, "block_count", "expected a number of layers");
  rope.layers = static_cast<int>(layers);
  rope.context_length = static_cast<std::int64_t>(context);
  rope.context_original = static_cast<std::int64_t>(std::clamp(original, 1.0, static_cast<double>(kMaxContext)));
  for (const auto& [key, value] : {std::pair("rope.dimension_count", dim), {"rope.dimension_count_swa", sliding_dim}}) {
    if (!(value >= 0 && value <= kMaxRotaryDim)) return broken(model, key, "expected a number of coordinates");
  }
  const SlidingArchitecture* known = sliding_architecture(rope.architecture);
  rope.rotary_dim = static_cast<int>(dim) / (known != nullptr ? known->full_share : 1);
  if (does_not_rotate(model)) rope.rotary_dim = 0;

  // Rotation
  rope.base = keys.f32("rope.freq_base", 10000);
  const std::string_view factor_key =
      model.find("rope.scaling.factor") != nullptr ? "rope.scaling.factor" : "rope.scale_linear";
  const double factor = keys.f32(factor_key, 0);
  rope.scaling_factor = factor == 0 ? 1 : factor;
  rope.attn_factor = keys.f32("rope.scaling.attn_factor", 1);
  rope.yarn = yarn_of(rope.architecture, keys);
  rope.original_sets_temperature = rope.architecture == "mistral3" && keys.f32("attention.temperature_scale", 0) != 0;
  rope.sliding = sliding_of(model, keys, rope.layers, static_cast<int>(sliding_dim), rope.base);
  if (!keys.types()) return keys.types().error();
  if (!std::isfinite(factor) || factor < 0) {
    return broken(model, factor_key, fmt::format("expected a positive number, found {}", factor));
  }
  if (const GgufValue* type = model.find("rope.scaling.type")) {
    const auto text = type->text();
    const std::string name(text.value_or(""));
    if (name != "none" && name != "linear" && name != "yarn" && name != "longrope") {
      return broken(
          model, "rope.scaling.type",
          fmt::format("expected none, linear, yarn or longrope, found {}; llama.cpp stops on it", type->display()));
    }
    rope.scaling_type = name;
  }
  if (const auto ok = check_method(rope.yarn, rope.rotary_dim / 2); !ok) {
    return broken(model, "rope.scaling.yarn_*", to_string(ok.error()));
  }
  if (const GgufValue* window = model.find("attention.sliding_window")) {  // of any type: most architectures ignore it
    const auto tokens = static_cast<std::uint64_t>(kMaxContext);
    rope.sliding_window = static_cast<std::int64_t>(std::min(window->count().value_or(0), tokens));
  }
  // Llama 4's chunks are built in; a file can only switch them off, with 0 (src/models/llama4.cpp 8-16)
  if (rope.architecture == "llama4" && (rope.sliding_window > 0 || !model.find("attention.sliding_window"))) {
    rope.sliding_window = 8192;
  }
  rope.stored_factors = static_cast<int>(dim) / 2;
  rope.still = still_pairs(model, rope.architecture, rope.rotary_dim / 2);

  // Factor tensors
  const std::array<std::pair<std::string_view, std::optional<std::vector<float>>*>, 3> tensors = {
      {{kFreqs, &rope.freqs}, {kLong, &rope.long_factors}, {kShort, &rope.short_factors}}};
  for (const auto& [name, slot] : tensors) {
    Result<std::optional<std::vector<float>>> values =
        factors_of(model, read, name, rope.stored_factors, rope.rotary_dim / 2);
    if (!values) return values.error();
    *slot = *std::move(values);
  }
  return rope;
}

Result<GgufRope> read_gguf_rope(const GgufModel& model, const GgufRope& before, const GgufEdits& edits) {
  Result<Edited> now = apply_edits(model.head(), edits);
  if (!now) return now.error();
  GgufModel edited = model;
  edited.shards.front() = std::move(now->file);
  return read_gguf_rope(edited, [&](const GgufModel&, std::string_view name) -> Result<std::vector<float>> {
    for (const GgufEdits::NewTensor& tensor : edits.tensors) {
      if (tensor.name == name) return tensor.values;
    }
    const auto& known = name == kFreqs ? before.freqs : name == kLong ? before.long_factors : before.short_factors;
    std::vector<float> values = known.value_or(std::vector<float>());
    values.resize(static_cast<std::size_t>(before.stored_factors), 1);
    return values;
  });
}

Result<RopeSpec> rope_spec(const GgufRope& rope) {
  if (rope.plan) {
    Result<Plan> plan = plan_from_json(*rope.plan);
    if (!plan) return Error{plan.error().code, to_string(plan.error()), "mrrope.plan"};
    return std::move(plan->spec);
  }
  if (rope.rotary_dim == 0) {
    return Error{ErrorCode::unsupported, "no layer of this model rotates, so no table limits its length",
                 rope.architecture};
  }
  RopeSpec spec{.name = rope.name, .context_trained = rope.context_length, .groups = {}};
  LayerGroup main{.rotary_dim = rope.rotary_dim, .base = rope.base};

  // What it was released with. Factor tensors come first, as in llama.cpp; a bare attn_factor is a table of ones.
  const std::string type = rope.scaling_type.value_or("linear");
  const std::int64_t original = std::min(rope.context_original, rope.context_length);
  // `own`: the scale the method has by itself in llama.cpp, where that differs from the method's formula or is changed.
  const auto trained = [&](Method method, double factor, double own) {
    if (rope.attn_factor != 1 || std::holds_alternative<LongRope>(method.law)) {
      method.attention_scale = own * rope.attn_factor;
    }
    main.trained =
        TrainedScaling{.method = std::move(method), .factor = std::max(1.0, factor), .context_original = original};
  };
  const double length_factor = static_cast<double>(rope.context_length) / static_cast<double>(original);
  if (rope.freqs) {
    trained(Custom{doubles(*rope.freqs)}, 1, 1);
  } else if (lists_act(rope)) {
    trained(LongRope{doubles(*rope.short_factors), doubles(*rope.long_factors)}, length_factor, 1);
  } else if (type == "yarn" && rope.scaling_factor > 1) {
    trained(rope.yarn, rope.scaling_factor, theory::attention_scale(rope.scaling_factor, rope.yarn.attention));
  } else if (type != "none" && rope.scaling_factor > 1) {
    trained(Linear{}, rope.scaling_factor, 1);
  } else {
    // Nothing slows the rotation down: a longer context_length is a wish (R001)
    spec.context_trained = original;
    if (rope.attn_factor != 1) trained(None{}, 1, 1);
  }

  if (rope.sliding && !rope.sliding->layers.empty()) {
    main.name = "global";
    for (int i = 0; i < rope.layers; ++i) {
      if (!std::binary_search(rope.sliding->layers.begin(), rope.sliding->layers.end(), i)) main.layers.push_back(i);
    }
    spec.groups.push_back(std::move(main));
    spec.groups.push_back({.name = "sliding",
                           .layers = rope.sliding->layers,
                           .rotary_dim = rope.sliding->rotary_dim,
                           .base = rope.sliding->base,
                           .extended = false});
  } else {
    spec.groups.push_back(std::move(main));
  }
  if (const auto ok = check_spec(spec); !ok) return ok.error();
  return spec;
}

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
#include "formats/hf_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "formats/hf_rope.h"
#include "formats/hf_shape.h"
#include "mrrope/units.h"

namespace mrrope::formats {

namespace {

using base::Json;

constexpr std::string_view kScaling = "rope_scaling";
constexpr std::string_view kParameters = "rope_parameters";
constexpr std::string_view kFull = "full_attention";

// An object per kind of layer, as opposed to the parameters themselves.
bool is_nested(const Json& parameters, const std::vector<std::string>& kinds) {
  // NOLINTNEXTLINE(readability-use-anyofallof): items() is no range
  for (const auto& [key, value] : parameters.items()) {
    if (!value.is_object()) continue;
    if (key.find("attention") != std::string::npos || std::find(kinds.begin(), kinds.end(), key) != kinds.end()) {
      return true;
    }
  }
  return false;
}

bool is_empty_object(const Place& place) { return place.value->is_object() && place.value->empty(); }

// ---- Which parameters are in force for which layers ----------------------------------------------------------------

class SourceFinder {
 public:
  SourceFinder(const HfModel& model, HfShape& shape) : model_(model), kinds_(shape.kinds), facts_(shape.facts) {}

  // `defaults` is filled where the class has rope_parameters of its own, and must outlive the result.
  std::vector<RopeSource> find(Json& defaults) {
    Place scaling = model_.fields.find(kScaling);
    Place parameters = model_.fields.find(kParameters);
    if (scaling && is_empty_object(scaling)) scaling.value = nullptr;
    const std::string by_default = model_.by_default();
    if (!parameters && !model_.cls.rope.empty()) {
      defaults = Json::parse(model_.cls.rope);
      parameters = {&defaults, by_default};
    }

    if (model_.cls.is(kByLayerType) && !model_.cls.is(kGlobalHeadDim)) return merged(scaling, parameters, defaults);
    // rope_scaling replaces all of rope_parameters, rope_theta included.
    const Place& chosen = scaling ? scaling : parameters;
    if (scaling && parameters && parameters.path != by_default) {
      facts_.remarks.push_back(parameters.path + " is ignored: " + scaling.path + " replaces all of it.");
    }
    if (chosen && !chosen.value->is_object()) Scope(*chosen.value, chosen.path);  // rejects it
    if (chosen && is_nested(*chosen.value, kinds_)) return nested(chosen);
    if (model_.cls.is(kByLayerType)) {
      reject(chosen.path, ErrorCode::inconsistent, "expected an object per kind of layer, such as full_attention");
    }
    dialect(chosen ? chosen.path : "no scaling");
    return {{.kind = "", .parameters = chosen ? Scope(*chosen.value, chosen.path) : Scope(), .nested = false}};
  }

 private:
  void dialect(std::string from) { facts_.sources.push_back({"rope parameters", "", std::move(from)}); }

  std::vector<RopeSource> nested(const Place& chosen) {
    dialect(chosen.path + ", per kind of layer");
    std::vector<RopeSource> sources;
    for (const auto& [kind, value] : chosen.value->items()) {
      if (const std::string shown = base::printable(kind); shown != kind) {
        reject(chosen.path, ErrorCode::malformed, fmt::format("expected kinds of layers, found \"{}\"", shown));
      }
      if (value.is_null()) continue;  // these layers do not turn
      if (!value.is_object()) {
        facts_.remarks.push_back(join_path(chosen.path, kind) + " is ignored: it stands beside the kinds of layers.");
        continue;
      }
      sources.push_back({.kind = kind, .parameters = Scope(value, join_path(chosen.path, kind)), .nested = true});
    }
    if (sources.size() > kMaxGroups) {
      reject(chosen.path, ErrorCode::invalid_argument, fmt::format("expected at most {} kinds of layers", kMaxGroups));
    }
    return sources;
  }

  // Gemma 3 and OLMo 3: rope_scaling goes on top of what rope_parameters says of full_attention.
  std::vector<RopeSource> merged(const Place& scaling, const Place& parameters, Json& defaults) {
    defaults = Json{{"rope_type", "default"}};
    std::vector<RopeSource> sources;
    for (const std::string_view kind : {kFull, std::string_view("sliding_attention")}) {
      RopeSource source{.kind = std::string(kind), .parameters = {}, .nested = true};
      if (scaling && kind == kFull) source.parameters.add(*scaling.value, scaling.path);
      Place own;
      if (parameters) own = Scope(*parameters.value, parameters.path).find(kind);
      if (own) source.parameters.add(*own.value, own.path);
      else source.parameters.add(defaults, model_.by_default());
      sources.push_back(std::move(source));
    }
    if (parameters && !is_nested(*parameters.value, kinds_) && !parameters.value->empty()) {
      facts_.remarks.push_back(parameters.path + " is ignored: this model wants an object per kind of layer in it.");
    }
    dialect(scaling ? scaling.path : parameters ? parameters.path + ", per kind of layer" : "no scaling");
    return sources;
  }

  const HfModel& model_;
  const std::vector<std::string>& kinds_;
  HfFacts& facts_;
};

// ---- What an unknown model may mean --------------------------------------------------------------------------------

// Fields that are read whatever the model_type is, or change no table.
constexpr std::array<std::string_view, 17> kRead = {"rope_theta",       "rope_scaling",    "rope_parameters",
                                                    "rotary_emb_base",  "rotary_pct",      "partial_rotary_factor",
                                                    "rotary_dim",       "no_rope_layers",  "qk_rope_head_dim",
                                                    "qk_nope_head_dim", "rope_type",       "rope_interleave",
                                                    "rope_interleaved", "mrope_section",   "mrope_interleaved",
                                                    "low_freq_factor",  "high_freq_factor"};

bool shapes_rotation(std::string_view key) {
  constexpr std::array<std::string_view, 5> kWords = {"rope", "theta", "nope", "rotary", "freq"};
  return std::find(kRead.begin(), kRead.end(), key) == kRead.end() &&
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return key.find(word) != std::string_view::npos; });
}

// A base per layer, a second base for windows, layers that do not rotate, a set of parameters for layers that nobody
// named: a table made without them would be wrong. `inside`: of the rope parameters.
void check_unread(const HfModel& model, const std::vector<std::string>& kinds, const Json& object,
                  const std::string& path, bool inside = false) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    const std::string where = join_path(path, base::printable(key));
    const bool kind = inside && std::find(kinds.begin(), kinds.end(), key) != kinds.end();
    if (value.is_object() && (kind || key == kScaling || key == kParameters)) {
      check_unread(model, kinds, value, where, true);
    } else if (shapes_rotation(key) || (inside && value.is_object())) {
      reject(where, ErrorCode::unsupported,
             fmt::format("model_type \"{}\" is not known, and this field may change which layers rotate, or how fast",
                         model.model_type));
    }
  }
}

// ---- Groups --------------------------------------------------------------------------------------------------------

std::vector<int> layers_of(const HfShape& shape, const std::string& kind) {
  std::vector<int> layers;
  for (std::size_t i = 0; i < shape.kinds.size(); ++i) {
    if (shape.kinds[i] == kind) layers.push_back(static_cast<int>(i));
  }
  return layers;
}

int common_head_dim(const HfModel& model, const RopeSource& source, const std::vector<int>& layers, HfFacts& facts) {
  const int size = head_dim(model, source.kind, layers.empty() ? -1 : layers.front(), &facts.sources);
  if (!model.fields.find("per_layer_config")) return size;
  for (const int layer : layers) {
    if (head_dim(model, source.kind, layer) != size) {
      reject(model.fields.path("per_layer_config"), ErrorCode::unsupported,
             "layers of one kind with heads of different sizes");
    }
  }
  return size;
}

void append(HfFacts& facts, RopeReading&& reading, const std::string& kind) {
  for (HfFact& fact : reading.sources) {
    if (!kind.empty()) fact.name += " (" + kind + ")";
    facts.sources.push_back(std::move(fact));
  }
  for (std::string& sentence : reading.remarks) facts.remarks.push_back(std::move(sentence));
}

void note_attention_scale(const RopeSpec& spec, HfFacts& facts) {
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const double scale = trained_table(spec, g).attention_scale;
    if (scale == 1) continue;
    facts.sources.push_back({"attention scale", format_number(scale), spec.groups[g].name});
  }
}

// A table of ones, released as a scaling: transformers would build the plain table.
void drop_identity(RopeSpec& spec) {
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    if (!spec.groups[g].trained) continue;
    const Table table = trained_table(spec, g);
    const bool same =
        std::all_of(table.pair_factors.begin(), table.pair_factors.end(), [](double s) { return s == 1; });
    if (same && table.attention_scale == 1) spec.groups[g].trained.reset();
  }
}

void check(const HfModel& model, const RopeSpec& spec) {
  // Everything has been checked at its field; this is for what only the whole can show.
  if (const auto ok = check_spec(spec); !ok) {
    reject(join_path(model.path, ok.error().where), ok.error().code, ok.error().message);
  }
}

}  // namespace

HfReading read_config(const Json& root) {
  const HfModel model = find_model(root);
  if (const Place alibi = model.fields.find("alibi"); alibi && boolean(alibi)) {
    reject(alibi.path, ErrorCode::unsupported, "the model uses ALiBi, not a rotary embedding");
  }
  // Qwen2.5-1M: positions begin anew in each chunk, and no engine puts a table of ours beside that
  if (const Place chunks = model.fields.find("dual_chunk_attention_config")) {
    reject(
        chunks.path, ErrorCode::unsupported,
        "dual chunk attention has positions of its own, which no table fits; take this field out to extend the model "
        "without it");
  }
  // Granite 4 with Mamba: its few layers of attention know no positions
  if (const Place kind = model.fields.find("position_embedding_type"); kind && *kind.value == "nope") {
    reject(kind.path, ErrorCode::unsupported, "no layer of this model rotates, so no table limits its length");
  }
  HfShape shape = read_shape(model);
  HfReading reading{.spec = {.name = model.model_type, .context_trained = shape.context, .groups = {}}, .facts = {}};
  HfFacts& facts = shape.facts;
  if (!model.known())
    facts.remarks.push_back("model_type \"" + model.model_type + "\" is not known: read as its fields say.");

  Json defaults;
  std::vector<RopeSource> sources = SourceFinder(model, shape).find(defaults);
  if (!model.known()) check_unread(model, shape.kinds, *model.object, model.path);
  // The layers that look far come first.
  std::stable_sort(sources.begin(), sources.end(), [](const RopeSource& a, const RopeSource& b) {
    const auto rank = [](const RopeSource& s) { return s.kind == kFull ? 0 : is_local(s.kind) ? 2 : 1; };
    return rank(a) < rank(b);
  });
  if (sources.size() > 1 && shape.kinds.empty()) {
    reject(model.fields.path("num_hidden_layers"), ErrorCode::malformed, "missing; needed to tell the kinds of layers");
  }
  RopeSpec& spec = reading.spec;
  for (const RopeSource& source : sources) {
    LayerGroup group{.name = source.nested ? source.kind : "all"};
    group.layers = source.nested ? layers_of(shape, source.kind) : rotating_layers(model, shape);
    if (source.nested && group.layers.empty() && !shape.kinds.empty()) continue;  // no layer is of this kind
    const int size = common_head_dim(model, source, group.layers, facts);
    if (spec.groups.empty()) facts.head_dim = size;
    RopeReading rope = read_rope(model, source, size, shape.context);
    group.rotary_dim = rope.rotary_dim;
    group.base = rope.base;
    group.trained = rope.trained;
    group.extended = spec.groups.empty() || !is_local(source.kind);
    if (spec.groups.empty()) {
      spec.context_trained = rope.context;
      facts.only_windows_rotate =
          !group.layers.empty() && std::all_of(group.layers.begin(), group.layers.end(), [&](int layer) {
            return is_local(shape.kinds[static_cast<std::size_t>(layer)]);
          });
    }
    append(facts, std::move(rope), source.nested ? source.kind : "");
    spec.groups.push_back(std::move(group));
  }
  if (spec.groups.empty()) {
    reject(model.fields.path(kParameters), ErrorCode::inconsistent, "no layer has a rotary embedding");
  }
  check(model, spec);
  note_attention_scale(spec, facts);
  drop_identity(spec);
  reading.facts = std::move(facts);
  return reading;
}

}  // namespace mrrope::formats

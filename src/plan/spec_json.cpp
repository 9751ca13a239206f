// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "mrrope/units.h"
#include "plan/json_parts.h"

namespace mrrope::plan {

namespace {

using base::Json;
using base::ObjectReader;

constexpr std::string_view kOnlyGroup = "all";

void write_group(const LayerGroup& group, Json& json) {
  json["rotary_dim"] = group.rotary_dim;
  json["base"] = group.base;
  if (group.name != kOnlyGroup) json["group"] = group.name;
  if (!group.layers.empty()) json["layers"] = group.layers;
  if (!group.extended) json["extended"] = false;
  if (group.trained) {
    json["trained"] = Json{{"method", method_to_json(group.trained->method)},
                           {"factor", group.trained->factor},
                           {"context_original", group.trained->context_original}};
  }
}

LayerGroup read_group(ObjectReader& reader) {
  LayerGroup group;
  group.rotary_dim = static_cast<int>(reader.integer("rotary_dim", 2, kMaxRotaryDim));
  group.base = reader.number("base");
  if (reader.has("group")) group.name = base::printable(reader.text("group"), std::string::npos);
  if (reader.has("extended")) group.extended = reader.boolean("extended");
  if (reader.has("layers")) {
    for (const double layer : reader.numbers("layers")) {
      if (!(layer >= 0 && layer < kMaxLayers) || layer != std::floor(layer)) {
        reader.reject("layers", ErrorCode::invalid_argument, "expected layer numbers between 0 and 4095");
      }
      group.layers.push_back(static_cast<int>(layer));
    }
  }
  if (reader.has("trained")) {
    ObjectReader trained = reader.object("trained");
    group.trained = TrainedScaling{.method = method_from_json(trained.object("method")),
                                   .factor = trained.number("factor"),
                                   .context_original = trained.integer("context_original", 1, kMaxContext)};
    trained.finish();
  }
  return group;
}

}  // namespace

Json spec_to_json(const RopeSpec& spec) {
  Json json;
  if (!spec.name.empty()) json["name"] = spec.name;
  write_group(spec.groups[0], json);
  json["context_trained"] = spec.context_trained;
  for (std::size_t g = 1; g < spec.groups.size(); ++g) {
    Json other;
    write_group(spec.groups[g], other);
    json["other_groups"].push_back(std::move(other));
  }
  return json;
}

RopeSpec spec_from_json(ObjectReader reader) {
  RopeSpec spec;
  if (reader.has("name")) spec.name = base::printable(reader.text("name"), std::string::npos);
  spec.context_trained = reader.integer("context_trained", 1, kMaxContext);
  spec.groups.push_back(read_group(reader));
  if (reader.has("other_groups")) {
    const Json& others = reader.array("other_groups");
    if (others.empty() || others.size() >= kMaxGroups) {
      reader.reject("other_groups", ErrorCode::invalid_argument, "expected 1 to 15 groups");
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      ObjectReader other(others[i], reader.path("other_groups") + "[" + std::to_string(i) + "]");
      spec.groups.push_back(read_group(other));
      other.finish();
    }
  }
  reader.finish();
  return spec;
}

}  // namespace mrrope::plan

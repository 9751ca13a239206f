// SPDX-License-Identifier: MIT
#include "runtime/plan_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mrrope::runtime {

namespace {

int group_of(const RopeSpec& spec, int layer) {
  int rest = -1;
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const std::vector<int>& layers = spec.groups[g].layers;
    if (std::find(layers.begin(), layers.end(), layer) != layers.end()) return static_cast<int>(g);
    if (layers.empty()) rest = static_cast<int>(g);
  }
  return rest;
}

}  // namespace

int extended_group_of(const RopeSpec& spec, int layer) {
  const int g = group_of(spec, layer);
  return g >= 0 && spec.groups[static_cast<std::size_t>(g)].extended ? g : -1;
}

Error other_model(const std::string& message, std::string where) {
  return {ErrorCode::inconsistent, "the plan is for another model: " + message, std::move(where)};
}

std::optional<Error> misfit(const Plan& plan, const LayerShape& shape) {
  const int g = extended_group_of(plan.spec, shape.layer);
  if (g < 0) return std::nullopt;
  const LayerGroup& group = plan.spec.groups[static_cast<std::size_t>(g)];
  if (shape.dims != group.rotary_dim) {
    return other_model(
        fmt::format("layer {} rotates {} dimensions, the plan's {}", shape.layer, shape.dims, group.rotary_dim),
        fmt::format("spec.groups[{}].rotary_dim", g));
  }
  if (shape.base != static_cast<float>(group.base)) {
    return other_model(fmt::format("layer {} has base {:g}, the plan {:g}", shape.layer, shape.base, group.base),
                       fmt::format("spec.groups[{}].base", g));
  }
  return std::nullopt;
}

}  // namespace mrrope::runtime

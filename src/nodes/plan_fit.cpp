// SPDX-License-Identifier: MIT
#include "nodes/plan_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mrrope::nodes {

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

// Compared as speeds, because a pair that stands still has any large factor.
bool alike(std::span<const float> file, const std::vector<double>& trained) {
  return std::equal(file.begin(), file.end(), trained.begin(), trained.end(), [](float in_file, double wanted) {
    return std::abs(1.0 / in_file - 1.0 / wanted) <= kSameModel * (1.0 / wanted) + 1e-12;
  });
}

// Files for llama.cpp have these as a tensor of factors, and all others as keys.
bool has_tensor(const Method& method) {
  return std::holds_alternative<Llama3>(method.law) || std::holds_alternative<LongRope>(method.law) ||
         std::holds_alternative<Custom>(method.law) || !method.modifiers.empty();
}

// Which list of LongRoPE is in use depends on the length of the context.
bool trained_with(const RopeSpec& spec, std::size_t group, std::span<const float> factors) {
  if (const auto* lists = std::get_if<LongRope>(&spec.groups[group].trained->method.law)) {
    return alike(factors, lists->short_factors) || alike(factors, lists->long_factors);
  }
  return alike(factors, trained_table(spec, group).pair_factors);
}

}  // namespace

int extended_group_of(const RopeSpec& spec, int layer) {
  const int g = group_of(spec, layer);
  return g >= 0 && spec.groups[static_cast<std::size_t>(g)].extended ? g : -1;
}

Error other_model(const std::string& message, std::string where) {
  return {ErrorCode::inconsistent, "the plan is for another model: " + message, std::move(where)};
}

Result<void> check_fit(const Plan& plan, const LayerShape& shape) {
  const int g = extended_group_of(plan.spec, shape.layer);
  if (g < 0) return {};
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
  return {};
}

Result<void> check_factors(const Plan& plan, int layer, const FileFactors& factors) {
  const int g = extended_group_of(plan.spec, layer);
  if (g < 0) return {};
  const auto index = static_cast<std::size_t>(g);
  const std::optional<TrainedScaling>& trained = plan.spec.groups[index].trained;
  const bool wanted = trained && has_tensor(trained->method);
  if (factors.present == wanted && (factors.values.empty() || trained_with(plan.spec, index, factors.values))) {
    return {};
  }
  return other_model(
      fmt::format("the factors of layer {} are not those it was made for (if mrrope extend wrote them, undo that)",
                  layer),
      fmt::format("spec.groups[{}].trained", g));
}

}  // namespace mrrope::nodes

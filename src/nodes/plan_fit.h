// SPDX-License-Identifier: MIT
//
// A plan and the model it is for: which group of layers a layer is in, and whether the model rotates as the plan says.
#pragma once

#include <optional>
#include <span>

#include "mrrope/plan.h"

namespace mrrope::nodes {

// The group a layer belongs to: the one that names it, else the one that names none. -1: none, or one that keeps its
// table.
int extended_group_of(const RopeSpec& spec, int layer);

// What a layer of the running model rotates.
struct LayerShape {
  int layer = 0;
  int dims = 0;
  float base = 0;
};

// Why the plan cannot be for this layer, if so. Layers that keep their table fit every plan.
Result<void> check_fit(const Plan& plan, const LayerShape& shape);

// The factors a layer has in its file, one per pair; without values: they are not in memory yet.
struct FileFactors {
  bool present = false;
  std::span<const float> values = {};
};

// Why the plan cannot be for a layer with these factors, if so. Other scalings are keys of a file, which flags replace:
// they are not compared.
Result<void> check_factors(const Plan& plan, int layer, const FileFactors& factors);

// "the plan is for another model: …".
Error other_model(const std::string& message, std::string where);

}  // namespace mrrope::nodes

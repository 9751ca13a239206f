// SPDX-License-Identifier: MIT
//
// A plan and the model it is for: which group of layers a layer is in, and whether the model rotates as the plan says.
#pragma once

#include <optional>

#include "mrrope/plan.h"

namespace mrrope::runtime {

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
std::optional<Error> misfit(const Plan& plan, const LayerShape& shape);

// "the plan is for another model: …".
Error other_model(const std::string& message, std::string where);

}  // namespace mrrope::runtime

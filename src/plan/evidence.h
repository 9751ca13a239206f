// SPDX-License-Identifier: MIT
//
// What was measured of a method, in a sentence.
#pragma once

#include <optional>
#include <string>

#include "mrrope/plan.h"

namespace mrrope::plan {

// Against another method, near the plan's factor; nothing if the plan extends nothing, or its method was not measured
// with the parameters it has.
std::optional<std::string> evidence(const Plan& plan);

}  // namespace mrrope::plan

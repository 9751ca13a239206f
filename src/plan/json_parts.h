// SPDX-License-Identifier: MIT
//
// Methods and specs as parts of a plan file, and plans as parts of a ladder. Readers throw base::Rejected.
#pragma once

#include "base/json.h"
#include "mrrope/methods.h"
#include "mrrope/plan.h"
#include "mrrope/spec.h"

namespace mrrope::plan {

// {"name": "yarn", "params": {…all of them…}, "modifiers": [{"name": …, "params": {…}}]}; no "modifiers" if empty.
base::Json method_to_json(const Method& method);
Method method_from_json(base::ObjectReader reader);

// The first group's fields stand in the spec itself; more groups follow in "other_groups".
base::Json spec_to_json(const RopeSpec& spec);
RopeSpec spec_from_json(base::ObjectReader reader);

// A whole plan file.
base::Json plan_to_json(const Plan& plan);
Plan plan_from_json(base::ObjectReader reader);

}  // namespace mrrope::plan

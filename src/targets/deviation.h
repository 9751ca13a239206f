// SPDX-License-Identifier: MIT
//
// How far what an engine does is from a plan: what every delivery is judged by.
#pragma once

#include "mrrope/targets.h"

namespace mrrope::targets {

struct Deviation {
  double table = 0;  // largest relative difference of an angular speed
  double scale = 0;  // of an attention scale
};

// Over the groups that both have.
Deviation deviation(const Effective& effect, const Plan& plan);

}  // namespace mrrope::targets

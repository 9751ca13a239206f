// SPDX-License-Identifier: MIT
//
// What the handles of mrrope/c.h are: values that never change once made.
#pragma once

#include <cstdint>
#include <vector>

#include "mrrope/plan.h"
#include "mrrope/rotary.h"
#include "mrrope/spec.h"

struct mrrope_spec {
  mrrope::RopeSpec value;
};

struct mrrope_plan {
  explicit mrrope_plan(mrrope::Plan plan);

  mrrope::Plan value;
  // One of each per group, made with the plan so that rotating takes no memory
  std::vector<mrrope::RotaryTable> tables;
};

// SPDX-License-Identifier: MIT
//
// A whole config -> RopeSpec and facts.
#pragma once

#include "base/json.h"
#include "mrrope/hf_config.h"
#include "mrrope/spec.h"

namespace mrrope::formats {

struct HfReading {
  RopeSpec spec;
  HfFacts facts;
};

// Throws base::Rejected with the path of the field. Domain: an object.
HfReading read_config(const base::Json& root);

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// What an engine does with a config.json.
#pragma once

#include <optional>

#include "mrrope/targets.h"
#include "targets/hf_rules.h"

namespace mrrope::targets {

struct HfEffect {
  Effective effective;
  bool faithful = true;          // false: not by the table in `effective`, or not at every position; a note says how
  std::string_view source = {};  // where in the engine's code that stands
  std::string_view flags = {};   // its command does not start without
};

// `context`: the length it is started with; default: all it offers. Errors: a config that says nothing of RoPE we can
// read.
Result<HfEffect> hf_effect(const HfEngine& engine, const HfConfig& config, std::optional<std::int64_t> context);

}  // namespace mrrope::targets

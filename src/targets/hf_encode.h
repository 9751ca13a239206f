// SPDX-License-Identifier: MIT
//
// Spellings of a plan in config.json. Each function gives the edited config; whether an engine makes the plan's table
// of it is for hf_deliver.cpp to find out.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.h"
#include "mrrope/hf_config.h"
#include "mrrope/plan.h"
#include "targets/hf_rules.h"

namespace mrrope::targets {

// How a table is spelt as longrope.
struct TableForm {
  // L. Engines with a formula for the attention scale a get it from L* = M^(1/a^2); it switches nothing, because both
  // lists are the same.
  std::int64_t original = 0;
  bool top_level_original = false;  // L also outside the rope object; else it is removed there
  bool mscales = true;              // short_mscale and long_mscale
  bool rope_parameters = true;      // the spelling of transformers 5 beside rope_scaling
  bool three_fields = false;        // rope_scaling as Phi-3 wants it: type, short_factor, long_factor
};

// For one engine; nullptr: for as many as possible.
TableForm table_form(const HfEngine* engine, const HfConfig& config, const Plan& plan);

// L* for a >= 1; M for a <= 1.
std::int64_t formula_original(std::int64_t context, double attention_scale);

// What to tell a person who wonders about the L* of a file: that it is not the trained length, and what it is there
// for. Nothing where the file has none.
std::optional<std::string> scale_carrier(const HfConfig& config);

Result<HfConfig> with_table(const HfConfig& config, const Plan& plan, const TableForm& form);

// A native type: `rope` with rope_type and its fields, for the first group.
Result<HfConfig> with_type(const HfConfig& config, const Plan& plan, const base::Json& rope);

// A longer length and nothing else.
Result<HfConfig> with_length(const HfConfig& config, const Plan& plan);

// Another rope_theta and nothing else.
Result<HfConfig> with_base(const HfConfig& config, const Plan& plan, double base);

// What `config` would be overridden with on a command line: {"max_position_embeddings": …, "rope_parameters": …}.
// Nothing: a field of it cannot be read.
std::optional<std::string> overrides_of(const HfConfig& config);

}  // namespace mrrope::targets

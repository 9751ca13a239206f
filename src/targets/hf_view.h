// SPDX-License-Identifier: MIT
//
// What one engine sees of a config.json: for every group of layers one set of rope parameters, after its own rules of
// precedence. The groups are those of HfConfig::rope_spec().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/hf_classes.h"
#include "mrrope/spec.h"
#include "targets/hf_rules.h"

namespace mrrope::targets {

struct GroupView {
  std::string name;
  base::Json rope;  // an object; empty: nothing seen
  double base = 0;
  int rotary_dim = 0;
  bool nested = false;  // the parameters stand in an object per kind of layer
};

struct HfView {
  std::string model_type;
  formats::HfClass cls{};
  std::int64_t context = 0;              // M
  std::optional<std::int64_t> original;  // L at the top level, or the default of the class
  bool has_head_dim = false;
  bool nested_parameters = false;  // rope_parameters is an object per kind of layer
  std::vector<GroupView> groups;
  std::vector<std::string> notes;
};

// Domain: `spec` is that of the same config. Errors: fields that an engine reads and rope_spec() does not.
Result<HfView> view_of(const HfEngine& engine, const base::Json& root, const RopeSpec& spec);

// A number of the rope parameters; null counts as missing.
std::optional<double> number_in(const base::Json& rope, std::string_view key);

}  // namespace mrrope::targets

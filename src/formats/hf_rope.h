// SPDX-License-Identifier: MIT
//
// One set of rope parameters -> base, rotated dimensions and the scaling the model was trained with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/hf_shape.h"
#include "mrrope/spec.h"

namespace mrrope::formats {

struct RopeSource {
  std::string kind;     // the layers it is for; empty: all
  Scope parameters;     // rope_scaling, rope_parameters, or both; may be empty
  bool nested = false;  // one of several sets, by kind of layer
};

struct RopeReading {
  int rotary_dim = 0;
  double base = 0;
  std::optional<TrainedScaling> trained;
  std::int64_t context = 0;  // the length this table is good for
  std::vector<HfFact> sources;
  std::vector<std::string> remarks;
};

// `context` is max_position_embeddings.
RopeReading read_rope(const HfModel& model, const RopeSource& source, int head_dim, std::int64_t context);

}  // namespace mrrope::formats

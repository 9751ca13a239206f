// SPDX-License-Identifier: MIT
//
// What the layers of a model keep while it runs, before a length is known.
#pragma once

#include <cstdint>
#include <map>

#include "mrrope/gguf.h"
#include "mrrope/hf_config.h"

namespace mrrope::targets {

struct CacheLayout {
  std::map<int, double> full;  // tokens that share a cell (1 but in compressed caches) -> elements of all such cells
  double sliding = 0;          // elements of a cell of all sliding layers
  std::int64_t window = 0;
  double state_bytes = 0;     // of all recurrent layers, for one sequence
  bool each_its_own = false;  // sequences do not share cells
  int full_layers = 0;
  int sliding_layers = 0;
  int recurrent_layers = 0;
};

CacheLayout llama_cpp_cache(const GgufModel& model);
CacheLayout hf_cache(const HfConfig& config);

}  // namespace mrrope::targets

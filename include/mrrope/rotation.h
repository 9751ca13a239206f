// SPDX-License-Identifier: MIT
//
// How layers of a running model rotate: read from the graph, not from a file.
#pragma once

#include <vector>

namespace mrrope {

// What some layers of the model did, read from the nodes of the graph just before they ran.
struct Rotation {
  std::vector<int> layers;  // that did the same, ascending
  int rotary_dim = 0;
  std::vector<double> inv_freq;  // radians per token; the float32 arithmetic of the kernel is not in it
  double attention_scale = 1;    // factor of cos and sin

  bool operator==(const Rotation&) const = default;
};

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// The data behind the paper's pictures, for any model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mrrope/mrrope.h"

namespace mrrope::cli {

struct Series {
  std::string name;
  std::vector<double> y;
};

struct Figure {
  std::string name;     // "scale", "bound", "position", "decay"
  std::string caption;  // what is drawn, and what to conclude
  std::string x_label;
  std::vector<double> x;
  std::vector<Series> series;
};

// Figure 3: s_i over the pairs.
Figure scale_figure(const std::vector<Plan>& plans);

// Figure 5: B(m) up to twice the target, of all pairs, of the band, and smoothed over 512 distances.
Figure bound_figure(const std::vector<Plan>& plans, std::size_t points);

// RoFormer's relative bound of attention scores over the distance.
Figure decay_figure(const std::vector<Plan>& plans, std::size_t points);

// Figure 2: the position read back from the angles, over the base (the spec's own and round ones).
Figure position_figure(const RopeSpec& spec, std::int64_t length, const std::vector<double>& bases, std::size_t points);

}  // namespace mrrope::cli

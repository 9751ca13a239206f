// SPDX-License-Identifier: MIT
//
// What a loss might be between the points at which it was measured: cubic radial functions and a plane (Gutmann 2001).
#pragma once

#include <span>
#include <vector>

namespace mrrope::tune {

class Surrogate {
 public:
  // Domain: as many values as points, at least one; points are equally long and distinct. O(n³): 1 ms for 100 points.
  Surrogate(std::vector<std::vector<double>> points, std::span<const double> values);

  // Near a measured point nearly its value. Far from all of them the plane rules, which is no forecast.
  [[nodiscard]] double at(std::span<const double> point) const;

 private:
  std::vector<std::vector<double>> points_;
  std::vector<double> weights_;  // of the points, of 1, of the coordinates
};

}  // namespace mrrope::tune

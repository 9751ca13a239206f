// SPDX-License-Identifier: MIT
//
// How well a mean of paired differences is known.
#pragma once

#include <span>

namespace mrrope::eval {

struct Interval {
  double low = 0;
  double high = 0;
};

// 95 % for the mean of at least two values. Percentile bootstrap from 6 to 1000 of them, with a fixed seed: the same
// values in the same order give the same bits. Below that there is too little to draw from, above it Student's t says
// the same in a thousandth of the time.
Interval interval95(std::span<const double> values);

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Systems of a few dozen linear equations.
#pragma once

#include <vector>

namespace mrrope::base {

// x of a x = y. Gauss, with pivots from the column; a column without one is left out: its unknown is 0.
// Domain: a is square, y as long.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> y);

}  // namespace mrrope::base

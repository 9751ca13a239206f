// SPDX-License-Identifier: MIT
//
// How well a mean of paired differences is known.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mrrope/statistics.h"

namespace mrrope::eval {

// 95 % for the mean of at least two values. Bootstrap from 6 to 1000 of them, with a fixed seed: the same values in the
// same order give the same bits. Percentiles are expanded (Hesterberg 2015, "What Teachers Should Know About the
// Bootstrap"): plain ones of ten values hold the mean nine times in ten only. Below 6 there is too little to draw from,
// above 1000 Student's t says the same in a thousandth of the time.
Interval interval95(std::span<const double> values);

// "tied", "tied with yarn x4".
inline std::string tied(std::string_view with) { return with.empty() ? "tied" : "tied with " + std::string(with); }

}  // namespace mrrope::eval

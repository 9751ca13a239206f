// SPDX-License-Identifier: MIT
//
// Curves of the theory at as many points as a picture has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrrope::report {

// B(m) is looked at up to this distance: 32 MB a curve.
inline constexpr std::int64_t kLongestBound = std::int64_t{1} << 22;

// At most `points` whole numbers from `first` to `last`, evenly.
std::vector<double> grid(double first, double last, std::size_t points);

// Values of a curve, whose first is that of distance 1, at whole distances; and their mean over the 512 around each.
std::vector<double> picked(std::span<const double> curve, std::span<const double> at);
std::vector<double> smoothed(std::span<const double> curve, std::span<const double> at);

}  // namespace mrrope::report

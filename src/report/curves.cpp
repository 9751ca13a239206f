// SPDX-License-Identifier: MIT
#include "report/curves.h"

#include <algorithm>
#include <cmath>

namespace mrrope::report {

std::vector<double> grid(double first, double last, std::size_t points) {
  std::vector<double> x;
  for (std::size_t i = 0; i < points; ++i) {
    const double value = std::round(first + (last - first) * static_cast<double>(i) /
                                                static_cast<double>(std::max<std::size_t>(1, points - 1)));
    if (x.empty() || value > x.back()) x.push_back(value);
  }
  return x;
}

std::vector<double> picked(std::span<const double> curve, std::span<const double> at) {
  std::vector<double> out;
  out.reserve(at.size());
  for (const double m : at) out.push_back(curve[static_cast<std::size_t>(m) - 1]);
  return out;
}

// Mean of curve[m - half, m + half - 1], as far as the curve goes.
std::vector<double> smoothed(std::span<const double> curve, std::span<const double> at) {
  constexpr std::int64_t half = 256;
  std::vector<double> prefix(curve.size() + 1, 0);
  for (std::size_t i = 0; i < curve.size(); ++i) prefix[i + 1] = prefix[i] + curve[i];
  std::vector<double> out;
  for (const double m : at) {
    const auto last = static_cast<std::int64_t>(curve.size());
    const auto from = std::clamp<std::int64_t>(static_cast<std::int64_t>(m) - half - 1, 0, last);
    const auto to = std::clamp<std::int64_t>(static_cast<std::int64_t>(m) + half - 1, from + 1, last);
    out.push_back((prefix[static_cast<std::size_t>(to)] - prefix[static_cast<std::size_t>(from)]) /
                  static_cast<double>(to - from));
  }
  return out;
}

}  // namespace mrrope::report

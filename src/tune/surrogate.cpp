// SPDX-License-Identifier: MIT
#include "tune/surrogate.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/linear_system.h"

namespace mrrope::tune {

namespace {

// On the diagonal. Methods are rounded and losses are of finite texts: a surface through every point would follow that.
// Also what keeps the equations solvable with fewer points than a plane has parameters.
constexpr double kRidge = 1e-4;

double cubed_distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t d = 0; d < a.size(); ++d) squares += (a[d] - b[d]) * (a[d] - b[d]);
  return squares * std::sqrt(squares);
}

}  // namespace

Surrogate::Surrogate(std::vector<std::vector<double>> points, std::span<const double> values)
    : points_(std::move(points)) {
  assert(!points_.empty() && values.size() == points_.size());
  const std::size_t n = points_.size();
  const std::size_t dims = points_.front().size();
  std::vector<std::vector<double>> a(n + 1 + dims, std::vector<double>(n + 1 + dims, 0));
  std::vector<double> y(values.begin(), values.end());
  y.resize(a.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i][j] = i == j ? kRidge : cubed_distance(points_[i], points_[j]);
    a[i][n] = a[n][i] = 1;
    for (std::size_t d = 0; d < dims; ++d) a[i][n + 1 + d] = a[n + 1 + d][i] = points_[i][d];
  }
  weights_ = base::solved(std::move(a), std::move(y));
}

double Surrogate::at(std::span<const double> point) const {
  const std::size_t n = points_.size();
  double sum = weights_[n];
  for (std::size_t i = 0; i < n; ++i) sum += weights_[i] * cubed_distance(point, points_[i]);
  for (std::size_t d = 0; d < point.size(); ++d) sum += weights_[n + 1 + d] * point[d];
  return sum;
}

}  // namespace mrrope::tune

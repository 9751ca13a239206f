// SPDX-License-Identifier: MIT
#include "base/linear_system.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace mrrope::base {

std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> y) {
  constexpr double kNothing = 1e-12;
  const std::size_t n = y.size();
  std::vector<std::size_t> row_of(n, n);
  std::size_t row = 0;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = row;
    for (std::size_t i = row; i < n; ++i) {
      if (std::abs(a[i][column]) > std::abs(a[pivot][column])) pivot = i;
    }
    if (row == n || std::abs(a[pivot][column]) < kNothing) continue;
    std::swap(a[pivot], a[row]);
    std::swap(y[pivot], y[row]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == row) continue;
      const double by = a[i][column] / a[row][column];
      for (std::size_t k = column; k < n; ++k) a[i][k] -= by * a[row][k];
      y[i] -= by * y[row];
    }
    row_of[column] = row++;
  }
  std::vector<double> x(n, 0);
  for (std::size_t column = 0; column < n; ++column) {
    if (row_of[column] < n) x[column] = y[row_of[column]] / a[row_of[column]][column];
  }
  return x;
}

}  // namespace mrrope::base

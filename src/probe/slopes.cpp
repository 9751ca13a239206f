// SPDX-License-Identifier: MIT
//
// Cluster-robust covariance: Liang and Zeger 1986, with the correction G/(G - K) for few clusters.
#include "probe/slopes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/linear_system.h"

namespace mrrope::probe {

namespace {

// Pairs that turn faster are the same in every plan that people use, and their angles at a distance wrap around.
constexpr double kShortestWave = 8;
// At the end of a statement a pair of this many times its length has turned by a quarter of a radian.
constexpr double kLongestWave = 24;
constexpr int kTents = 4;

using Matrix = std::vector<std::vector<double>>;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Matrix inverse(const Matrix& a) {
  Matrix out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<double> unit(a.size(), 0);
    unit[i] = 1;
    out.push_back(base::solved(a, unit));
  }
  return out;  // symmetric, as a is
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.size(), std::vector<double>(b.front().size(), 0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < out[i].size(); ++j) out[i][j] += a[i][k] * b[k][j];
    }
  }
  return out;
}

bool is_extended(const Plan& plan, std::size_t group) {
  return group >= plan.spec.groups.size() || plan.spec.groups[group].extended;
}

}  // namespace

Directions directions_of(const Plan& plan, std::size_t longest) {
  const std::vector<double>& speed = plan.groups.front().inv_freq;
  const double shortest = 2 * std::numbers::pi / kShortestWave;
  const double slowest = 2 * std::numbers::pi / (kLongestWave * static_cast<double>(longest));
  std::size_t first = 0;
  while (first < speed.size() && speed[first] > shortest) ++first;
  std::size_t end = first;
  while (end < speed.size() && speed[end] >= slowest) ++end;
  Directions out;
  const auto felt = static_cast<double>(end - first);
  const int tents = static_cast<int>(std::min<std::size_t>(kTents, end - first));
  for (int k = 0; k < tents; ++k) {
    std::vector<double> tent(speed.size(), 0);
    for (std::size_t i = first; i < end; ++i) {
      // Tops at 0, 1, … of tents - 1, so that the tents of all sum to 1
      const double place = felt > 1 ? static_cast<double>(i - first) / (felt - 1) * (tents - 1) : 0;
      tent[i] = std::max(0.0, 1 - std::abs(place - k));
    }
    out.tents.push_back(std::move(tent));
  }
  return out;
}

Plan moved(const Plan& plan, const Directions& directions, std::size_t direction, double relative) {
  Plan out = plan;
  for (std::size_t g = 0; g < out.groups.size(); ++g) {
    if (!is_extended(plan, g)) continue;
    GroupPlan& group = out.groups[g];
    if (direction == 0) {
      group.attention_scale *= 1 + relative;
      continue;
    }
    const std::vector<double>& tent = directions.tents[direction - 1];
    for (std::size_t i = 0; i < group.inv_freq.size() && i < tent.size(); ++i) {
      group.inv_freq[i] *= 1 + relative * tent[i];
      group.pair_factors[i] /= 1 + relative * tent[i];
    }
  }
  return out;
}

Slopes slopes(const std::vector<std::vector<double>>& residual,
              const std::vector<std::vector<std::vector<double>>>& slope) {
  const std::size_t n = slope.size();
  const std::size_t statements = residual.size();
  Matrix squares(n, std::vector<double>(n, 0));
  std::vector<double> projected(n, 0);
  for (std::size_t r = 0; r < statements; ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      projected[i] += dot(slope[i][r], residual[r]);
      for (std::size_t j = 0; j < n; ++j) squares[i][j] += dot(slope[i][r], slope[j][r]);
    }
  }
  Slopes out;
  out.step = base::solved(squares, projected);
  Matrix meat(n, std::vector<double>(n, 0));
  for (std::size_t r = 0; r < statements; ++r) {
    std::vector<double> left = residual[r];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < left.size(); ++k) left[k] -= out.step[i] * slope[i][r][k];
    }
    out.left.push_back(dot(left, left));
    std::vector<double> score(n);
    for (std::size_t i = 0; i < n; ++i) score[i] = dot(slope[i][r], left);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) meat[i][j] += score[i] * score[j];
    }
  }
  const Matrix bread = inverse(squares);
  const Matrix covariance = product(product(bread, meat), bread);
  const double few = statements > n ? static_cast<double>(statements) / static_cast<double>(statements - n) : 1;
  for (std::size_t i = 0; i < n; ++i) out.error.push_back(std::sqrt(std::max(0.0, few * covariance[i][i])));
  return out;
}

Way way(const std::vector<std::vector<double>>& server, const std::vector<std::vector<double>>& from,
        const std::vector<std::vector<double>>& to) {
  constexpr double kOne = 1e-7;  // mean square of a statement: float16's rounding
  Way out{.statements = server.size()};
  std::vector<std::vector<double>> residual = server;
  std::vector<std::vector<double>> apart = to;
  double squares = 0;
  for (std::size_t r = 0; r < server.size(); ++r) {
    for (std::size_t i = 0; i < server[r].size(); ++i) {
      residual[r][i] -= from[r][i];
      apart[r][i] -= from[r][i];
    }
    squares += dot(apart[r], apart[r]);
  }
  if (squares < kOne * static_cast<double>(server.size())) {
    out.error = INFINITY;
    return out;
  }
  const Slopes one = slopes(residual, {apart});
  out.place = one.step.front();
  out.error = one.error.front();
  return out;
}

}  // namespace mrrope::probe

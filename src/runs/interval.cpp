// SPDX-License-Identifier: MIT
#include "runs/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace mrrope::eval {

namespace {

constexpr std::size_t kResamples = 10'000;
constexpr std::size_t kBootstrapFrom = 6;
constexpr std::size_t kBootstrapTo = 1000;
constexpr double kNormal95 = 1.959964;

// Which of n values each resample takes, one resample after the other. Drawing takes thirty times as long as adding up,
// and is the same for all lists of a size: the last draw is kept, at most 20 MB. Domain: 1 <= n <= kBootstrapTo.
const std::vector<std::uint16_t>& draws_of(std::size_t n) {
  thread_local std::vector<std::uint16_t> draws;
  thread_local std::size_t of = 0;
  if (of == n) return draws;
  of = 0;
  draws.resize(kResamples * n);
  std::mt19937_64 random(20260101);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same verdict every time
  for (std::uint16_t& draw : draws) draw = static_cast<std::uint16_t>(random() % n);  // bias below 2^-50
  of = n;
  return draws;
}

}  // namespace

Estimate estimate(std::span<const double> values) {
  Estimate out{.mean = 0, .stderr_mean = 0, .n = values.size()};
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double v : values) squares += (v - out.mean) * (v - out.mean);
  out.stderr_mean = std::sqrt(squares / (n - 1) / n);
  return out;
}

double student_t95(std::size_t freedom) {
  // Two-sided 5 %: 1 to 30 degrees from the usual table, beyond that the Cornish-Fisher series.
  static constexpr std::array<double, 30> table = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
      2.120,  2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom == 0) return INFINITY;
  if (freedom <= table.size()) return table[freedom - 1];
  const auto n = static_cast<double>(freedom);
  return 1.95996 + 2.3722 / n + 2.8225 / (n * n);
}

Interval wilson95(double share, std::size_t n) {
  const double z2 = kNormal95 * kNormal95 / static_cast<double>(n);
  const double middle = share + z2 / 2;
  const double half = std::sqrt(z2 * share * (1 - share) + z2 * z2 / 4);
  return {std::clamp((middle - half) / (1 + z2), 0.0, share), std::clamp((middle + half) / (1 + z2), share, 1.0)};
}

Interval interval95(std::span<const double> values) {
  const Estimate e = estimate(values);
  if (e.n < kBootstrapFrom || e.n > kBootstrapTo) {
    const double half = student_t95(e.n - 1) * e.stderr_mean;
    return {e.mean - half, e.mean + half};
  }
  const std::vector<std::uint16_t>& draws = draws_of(e.n);
  std::vector<double> means;
  means.reserve(kResamples);
  constexpr std::size_t kTogether = 4;  // sums that do not wait for each other
  for (std::size_t first = 0; first < draws.size(); first += kTogether * e.n) {
    std::array<double, kTogether> sums = {};
    for (std::size_t k = first; k < first + e.n; ++k) {
      for (std::size_t j = 0; j < kTogether; ++j) sums[j] += values[draws[k + j * e.n]];
    }
    for (const double sum : sums) means.push_back(sum / static_cast<double>(e.n));
  }
  // The tail that makes an interval of normal values as wide as Student's
  const auto n = static_cast<double>(e.n);
  const double tail = std::erfc(student_t95(e.n - 1) * std::sqrt(n / (n - 1)) / std::sqrt(2.0)) / 2;
  const auto cut = static_cast<std::ptrdiff_t>(tail * kResamples);
  const auto low = means.begin() + cut;
  const auto high = means.end() - 1 - cut;
  std::nth_element(means.begin(), low, means.end());
  Interval out{.low = *low};
  std::nth_element(low, high, means.end());
  out.high = *high;
  return out;
}

}  // namespace mrrope::eval

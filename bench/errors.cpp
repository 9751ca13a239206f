// SPDX-License-Identifier: MIT
#include "bench/errors.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace mrrope::bench {

namespace {

constexpr std::size_t kPairs = 64;
constexpr std::size_t kDim = 2 * kPairs;

// Heads whose pairs have length 1, at random angles.
std::vector<float> unit_pairs(std::size_t heads, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> angle(0, 6.283185307179586);
  std::vector<float> values(heads * kDim);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double a = angle(random);
      values[h * kDim + i] = static_cast<float>(std::cos(a));
      values[h * kDim + kPairs + i] = static_cast<float>(std::sin(a));
    }
  }
  return values;
}

}  // namespace

double largest_error(const Rotation& rotation, std::int32_t last, std::size_t count) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int32_t> uniform(0, last);
  std::vector<std::int32_t> positions = {0, last - 1, last};
  while (positions.size() < count) positions.push_back(uniform(random));
  const std::vector<float> before = unit_pairs(positions.size(), 2);
  std::vector<float> after = before;
  rotation(positions, after.data());
  long double worst = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::size_t i = 0; i < kPairs; ++i) {
      const double theta = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(kPairs));
      const long double angle = static_cast<long double>(positions[t]) * static_cast<long double>(theta);
      const long double c = std::cos(angle);
      const long double s = std::sin(angle);
      const std::size_t x = t * kDim + i;
      const std::size_t y = x + kPairs;
      worst = std::max({worst, std::fabs(before[x] * c - before[y] * s - after[x]),
                        std::fabs(before[y] * c + before[x] * s - after[y])});
    }
  }
  return static_cast<double>(worst);
}

double score_drift(const Rotation& rotation, std::int32_t start) {
  constexpr std::int32_t kKeys = 64;
  const auto scores = [&](std::int32_t first) {
    // One key after the other and the query behind them; every key is the same vector
    std::vector<std::int32_t> positions;
    for (std::int32_t t = 0; t <= kKeys; ++t) positions.push_back(first + t);
    const std::vector<float> key = unit_pairs(1, 3);
    const std::vector<float> query = unit_pairs(1, 4);
    std::vector<float> heads;
    for (std::int32_t t = 0; t < kKeys; ++t) heads.insert(heads.end(), key.begin(), key.end());
    heads.insert(heads.end(), query.begin(), query.end());
    rotation(positions, heads.data());
    std::vector<double> found;
    for (std::size_t t = 0; t < kKeys; ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < kDim; ++i) {
        sum += static_cast<double>(heads[t * kDim + i]) * static_cast<double>(heads[kKeys * kDim + i]);
      }
      found.push_back(sum / kPairs);
    }
    return found;
  };
  const std::vector<double> near = scores(0);
  const std::vector<double> far = scores(start);
  double worst = 0;
  for (std::size_t t = 0; t < kKeys; ++t) worst = std::max(worst, std::fabs(far[t] - near[t]));
  return worst;
}

}  // namespace mrrope::bench

// SPDX-License-Identifier: MIT
#include "tune/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mrrope::tune {
namespace {

// scipy.interpolate.RBFInterpolator(points, values, kernel="cubic", degree=1, smoothing=1e-4) of scipy 1.17.
TEST(Surrogate, IsThatOfScipy) {
  const std::vector<double> values = {1, 2, 3, 5, 1.5, 2.25};
  const Surrogate s({{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0.5, 0.25}, {0.2, 0.7}}, values);
  EXPECT_NEAR(s.at(std::vector{0.5, 0.5}), 2.067449930867449, 1e-12);
  EXPECT_NEAR(s.at(std::vector{0.1, 0.9}), 2.7643251547865706, 1e-12);
  EXPECT_NEAR(s.at(std::vector{0.5, 0.25}), 1.500118284213065, 1e-12);
  EXPECT_NEAR(s.at(std::vector{2.0, -1.0}), 2.617849778173088, 1e-11);
}

TEST(Surrogate, OfAPlaneIsThePlane) {
  const auto plane = [](double x, double y) { return 3 + 2 * x - y; };
  std::vector<std::vector<double>> points;
  std::vector<double> values;
  for (const auto& [x, y] : {std::pair(0.1, 0.2), {0.9, 0.3}, {0.4, 0.8}, {0.6, 0.5}}) {
    points.push_back({x, y});
    values.push_back(plane(x, y));
  }
  EXPECT_NEAR(Surrogate(points, values).at(std::vector{5.0, -3.0}), plane(5, -3), 1e-9);
}

// The first proposals of a search may have fewer points than a plane has parameters.
TEST(Surrogate, OfFewerPointsThanAPlaneHasParametersStillMeetsThem) {
  const Surrogate one({{0.5, 0.5, 0.5}}, std::vector{7.0});
  EXPECT_NEAR(one.at(std::vector{0.5, 0.5, 0.5}), 7, 1e-9);
  const Surrogate two({{0.5, 0.5, 0.5}, {0.5, 0.7, 0.5}}, std::vector{7.0, 9.0});
  EXPECT_NEAR(two.at(std::vector{0.5, 0.5, 0.5}), 7, 1e-9);
  EXPECT_NEAR(two.at(std::vector{0.5, 0.7, 0.5}), 9, 1e-9);
}

}  // namespace
}  // namespace mrrope::tune

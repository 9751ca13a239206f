// SPDX-License-Identifier: MIT
#include "mrrope/attention.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mrrope::eval {
namespace {

// One pair, every query 2, every key i: the score at distance d is 2 a^2 Re(-i e^(i theta d)) / sqrt(D).
TEST(Attention, OfOnePairIsTheSineOfItsAngle) {
  LayerVectors layer{
      .layer = 0, .pairs = 2, .head_dim = 4, .query_heads = 2, .key_heads = 1, .queries = {}, .keys = {}};
  for (int token = 0; token < 5; ++token) {
    for (int head = 0; head < 2; ++head) layer.queries.insert(layer.queries.end(), {{9, 9}, {2, 0}});
    layer.keys.insert(layer.keys.end(), {{7, 7}, {0, 1}});
  }
  GroupPlan group;
  group.inv_freq = {1, 0.01};
  group.attention_scale = 1.5;
  const std::vector<double> distances = {0, 10, 157, 100000};
  const AttentionCurve curve = attention_by_distance({&layer, 1}, group, 1, 1, distances, {.samples = 50});
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const double expected = 2 * 2.25 * std::sin(0.01 * distances[i]) / 2;
    EXPECT_NEAR(curve.mean[i], expected, 1e-9);
    EXPECT_NEAR(curve.deviation[i], 0, 1e-6);
    EXPECT_NEAR(curve.lower[i], expected, 1e-9);
    EXPECT_NEAR(curve.upper[i], expected, 1e-9);
  }
}

TEST(Attention, TakesTheSameSamplesForEveryPlan) {
  LayerVectors layer{
      .layer = 0, .pairs = 1, .head_dim = 2, .query_heads = 1, .key_heads = 1, .queries = {}, .keys = {}};
  for (int token = 0; token < 64; ++token) {
    layer.queries.emplace_back(static_cast<float>(token), 1.0F);
    layer.keys.emplace_back(1.0F, static_cast<float>(token % 7));
  }
  GroupPlan fast;
  fast.inv_freq = {0.5};
  GroupPlan slow;
  slow.inv_freq = {0.25};
  const std::vector<double> near = {4};
  const std::vector<double> far = {8};
  const AttentionCurve a = attention_by_distance({&layer, 1}, fast, 0, 0, near, {});
  const AttentionCurve b = attention_by_distance({&layer, 1}, slow, 0, 0, far, {});
  EXPECT_EQ(a.mean, b.mean) << "half the speed at twice the distance is the same angle";
  EXPECT_EQ(a.upper, b.upper);
}

}  // namespace
}  // namespace mrrope::eval

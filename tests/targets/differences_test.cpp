// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "mrrope/targets.h"
#include "targets/deviation.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Differences, AreRelativeToTheLarger) {
  EXPECT_EQ(table_difference({1, 0.5}, {1, 0.5}), 0);
  EXPECT_EQ(table_difference({1, 0.5}, {1, 0.25}), 0.5);
  EXPECT_EQ(table_difference({1, 0}, {1, 0}), 0);
  EXPECT_EQ(table_difference({1, 0}, {1, 0.5}), 1);
  EXPECT_EQ(table_difference({1}, {1, 1}), 1);
}

TEST(Differences, WhatIsNoNumberIsDifferent) {
  for (const double bad : {kNan, kInfinity}) {
    EXPECT_EQ(table_difference({1, bad, 0.5}, {1, 0.7, 0.5}), 1);
    EXPECT_EQ(table_difference({1, 0.7, 0.5}, {1, bad, 0.25}), 1);
  }
  EXPECT_EQ(table_difference({kNan}, {kNan}), 1);
  const GroupDifference d = group_difference({"all", {1, kNan}, kNan}, {"all", {1, 0.5}, 1});
  EXPECT_EQ(d, (GroupDifference{.table = 1, .pair = 1, .scale = 1}));
}

TEST(Differences, ATableOfNoNumbersIsFarFromEveryPlan) {
  const Plan plan = *make_plan(*parse_spec("dim=64,base=10000,ctx=4096"), 16384, test::method("yarn"));
  Effective effect;
  effect.groups = effective_groups(plan);
  EXPECT_EQ(targets::deviation(effect, plan).table, 0);
  effect.groups[0].inv_freq[3] = effect.groups[0].attention_scale = kNan;
  EXPECT_EQ(targets::deviation(effect, plan).table, 1);
  EXPECT_EQ(targets::deviation(effect, plan).scale, 1);
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "cli/pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrrope::cli {
namespace {

using namespace std::chrono_literals;

TEST(Pace, LetsALineThroughEveryTenSeconds) {
  const Pace::Clock::time_point start = Pace::Clock::now();
  Pace pace(start, 10s);
  std::vector<std::chrono::milliseconds> lines;
  for (auto at = 0ms; at <= 35s; at += 200ms) {
    if (pace.is_due(start + at)) lines.push_back(at);
  }
  EXPECT_EQ(lines, (std::vector<std::chrono::milliseconds>{10s, 20s, 30s}));
}

TEST(Pace, AStepThatTakesLongerIsFollowedByOneLine) {
  const Pace::Clock::time_point start = Pace::Clock::now();
  Pace pace(start, 10s);
  EXPECT_TRUE(pace.is_due(start + 47s));
  EXPECT_FALSE(pace.is_due(start + 48s));
  EXPECT_TRUE(pace.is_due(start + 57s));
}

}  // namespace
}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include "cli/eval/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mrrope::cli {
namespace {

using namespace std::chrono_literals;

eval::Record answered(const char* method, double score) {
  eval::Record record;
  record.method = method;
  record.factor = 4;
  record.result = eval::Answer{.score = score};
  return record;
}

eval::Record read(const char* method, double nll_per_token) {
  eval::Record record;
  record.method = method;
  record.factor = 4;
  record.result = eval::Reading{.points = {{.length = 101, .predicted = 100, .nll = 100 * nll_per_token}}};
  return record;
}

TEST(Progress, ASearchIsJudgedByWhatItReads) {
  // Scores and losses were added up: "best yarn x4 113.3 %".
  BestSoFar best;
  best.add(read("yarn", std::log(3.0)));
  best.add(answered("yarn", 1));
  best.add(read("ntk", std::log(4.0)));
  best.add(answered("ntk", 0));
  EXPECT_EQ(best.text(), "best yarn x4 3.000");
}

TEST(Progress, AnswersAreJudgedByTheirScores) {
  BestSoFar best;
  best.add(answered("yarn", 0.25));
  EXPECT_EQ(best.text(), "");  // nothing to compare with
  best.add(answered("ntk", 0.5));
  EXPECT_EQ(best.text(), "best ntk x4 50.0 %");
}

TEST(Progress, TheClockStartsAgainWithEachMeasurement) {
  // Of a search the rate fell and fell: tokens of the last measurement in the seconds of all.
  const ProgressClock::Clock::time_point start = ProgressClock::Clock::now();
  ProgressClock clock(start);
  EXPECT_EQ(clock.seconds(1000, start + 10s), 10);
  EXPECT_EQ(clock.seconds(0, start + 60s), 0);
  EXPECT_EQ(clock.seconds(500, start + 65s), 5);
}

TEST(Progress, NoTokensYetIsNoRate) {
  const eval::Progress none{.item = 1, .items = 8, .tokens = 0, .tokens_total = 100, .what = "yarn x4, a.txt"};
  EXPECT_EQ(progress_line(none, 3, "", 80), "1/8  yarn x4, a.txt");
  const eval::Progress some{.item = 2, .items = 8, .tokens = 50, .tokens_total = 100, .what = ""};
  EXPECT_EQ(progress_line(some, 5, "", 80), "2/8  10 tokens/s  0:05 left");
}

}  // namespace
}  // namespace mrrope::cli

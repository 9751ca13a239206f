// SPDX-License-Identifier: MIT
//
// What is read, judged against servers whose cut is known.
#include <gtest/gtest.h>

#include "mrrope/probe.h"

namespace mrrope::probe {
namespace {

// Reads [0, first) and [1 - last, 1).
struct Server {
  double first, last;
  int looks = 0;

  Look look() {
    return [this](double from, double to) -> Result<Seen> {
      ++looks;
      return from < first || to > 1 - last ? Seen::yes : Seen::no;
    };
  }
};

TEST(Reading, OfAnHonestServerTakesThreeLooks) {
  Server server{1, 1};
  const auto reading = judge_reading(server.look(), std::nullopt);
  EXPECT_EQ(reading->cut, Cut::none);
  EXPECT_EQ(server.looks, 3);
}

TEST(Reading, FindsEveryFrontCutWithinFivePercent) {
  for (int percent = 6; percent <= 90; ++percent) {
    Server server{0, percent / 100.0};
    const auto reading = judge_reading(server.look(), std::nullopt);
    EXPECT_EQ(reading->cut, Cut::front) << percent;
    EXPECT_NEAR(reading->last, server.last, reading->within + 1e-9) << percent;
    EXPECT_LE(reading->within, 0.025 + 1e-9);
    EXPECT_LE(server.looks, kMostLooks);
  }
}

TEST(Reading, FindsEveryBackCutWithinFivePercent) {
  for (int percent = 10; percent <= 94; ++percent) {
    Server server{percent / 100.0, 0};
    const auto reading = judge_reading(server.look(), std::nullopt);
    EXPECT_EQ(reading->cut, Cut::back) << percent;
    EXPECT_NEAR(reading->first, server.first, reading->within + 1e-9) << percent;
    EXPECT_LE(server.looks, kMostLooks);
  }
}

TEST(Reading, FindsBothSidesOfAMiddleCut) {
  for (int first = 10; first <= 45; first += 5) {
    for (int last = 10; last <= 45; last += 5) {
      Server server{first / 100.0, last / 100.0};
      const auto reading = judge_reading(server.look(), std::nullopt);
      EXPECT_EQ(reading->cut, Cut::middle);
      EXPECT_NEAR(reading->first, server.first, 0.0251) << first << " " << last;
      EXPECT_NEAR(reading->last, server.last, 0.0251) << first << " " << last;
      EXPECT_LE(server.looks, kMostLooks);
    }
  }
}

TEST(Reading, OfOllamaIsTheBeginningAndTheEnd) {
  Server server{0.001, 0.4};
  EXPECT_EQ(judge_reading(server.look(), 0.401)->cut, Cut::middle);
  EXPECT_NEAR(judge_reading(server.look(), 0.401)->last, 0.4, 0.011);
}

TEST(Reading, ByTheServersCountTakesFourLooks) {
  Server server{0, 0.25};
  const auto reading = judge_reading(server.look(), 0.25);
  EXPECT_EQ(reading->cut, Cut::front);
  EXPECT_EQ(reading->last, 0.25);
  EXPECT_EQ(server.looks, 4);
}

TEST(Reading, IsUnknownWhereALookIs) {
  EXPECT_EQ(judge_reading([](double, double) -> Result<Seen> { return Seen::unknown; }, 1)->cut, Cut::unknown);
  EXPECT_EQ(judge_reading([](double, double) -> Result<Seen> { return Seen::no; }, 0.5)->cut, Cut::unknown);
  // The server says that it has read half, and every place we look at is read
  EXPECT_EQ(judge_reading([](double, double) -> Result<Seen> { return Seen::yes; }, 0.5)->cut, Cut::unknown);
}

}  // namespace
}  // namespace mrrope::probe

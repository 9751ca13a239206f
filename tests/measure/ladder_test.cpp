// SPDX-License-Identifier: MIT
//
// A ladder among candidates.
#include "mrrope/ladder.h"

#include <gtest/gtest.h>

#include "mrrope/catalogue.h"
#include "mrrope/measure.h"

namespace mrrope::eval {
namespace {

RopeSpec spec() { return *parse_spec("dim=64,base=10000,ctx=512"); }

TEST(LadderCandidates, AreOneRowOfARungEach) {
  const Ladder ladder = *make_ladder(spec(), {512, 1024, 4096});
  const std::vector<Candidate> rungs = candidates_of(ladder);
  ASSERT_EQ(rungs.size(), 3U);
  for (const Candidate& rung : rungs) {
    EXPECT_TRUE(rung.same_row(rungs[0]));
    EXPECT_EQ(rung.method, "ladder(none@512,mrrope-pro@1k@4k)");
    EXPECT_EQ(rung.factor, 8);
  }
  EXPECT_FALSE(rungs[0].plan);
  EXPECT_EQ(rungs[1].plan, ladder.rungs[1].plan);
  EXPECT_EQ(rungs[2].rung, "4k");
}

TEST(LadderCandidates, TakeEveryTextOnceUpToTheLastRung) {
  const std::vector<Candidate> rungs = candidates_of(*make_ladder(spec(), {512, 1024, 4096}));
  const auto taken = [&](std::int64_t tokens) {
    std::string by;
    for (const Candidate& rung : rungs) by += rung.takes(tokens) ? rung.rung + " " : "";
    return by;
  };
  EXPECT_EQ(taken(1), "512 ");
  EXPECT_EQ(taken(512), "512 ");
  EXPECT_EQ(taken(513), "1k ");
  EXPECT_EQ(taken(1024), "1k ");
  EXPECT_EQ(taken(1025), "4k ");
  EXPECT_EQ(taken(4096), "4k ");
  EXPECT_EQ(taken(4097), "");
  EXPECT_TRUE((Candidate{"yarn", 4, std::nullopt}).takes(1 << 30));
}

TEST(LadderCandidates, OfDifferentLaddersHaveDifferentNames) {
  const auto name = [](std::vector<Plan> plans) { return candidates_of(*ladder_of_plans(std::move(plans)))[0].method; };
  const auto own = [](double last) {
    std::vector<double> factors(32, 1);
    factors.back() = last;
    return *make_plan(spec(), 1024, Method{Custom{factors}});
  };
  const Plan none = *make_plan(spec(), 512, *parse_method("none"));
  EXPECT_EQ(name({none, *make_plan(spec(), 1024, *parse_method("yarn:beta_fast=16"))}),
            "ladder(none@512,yarn:beta_fast=16@1k)");
  EXPECT_NE(name({none, own(2)}), name({none, own(3)}));
  EXPECT_EQ(name({none, own(2)}), name({none, own(2)}));
}

}  // namespace
}  // namespace mrrope::eval

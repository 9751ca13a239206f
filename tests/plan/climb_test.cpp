// SPDX-License-Identifier: MIT
//
// The rule of a text that climbs: its spelling, its rungs.
#include <gtest/gtest.h>

#include <cmath>

#include "mrrope/mrrope.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

TEST(ClimbSpelling, IsReadBackAsItWasWritten) {
  for (const char* text : {"climb:mrrope-pro", "climb:ratio=1.41:mrrope-pro", "climb:yarn:beta_fast=16",
                           "climb:ratio=1.19:mrrope-power:p=3+cope", "climb:mrrope-uni:attention_scale=1.1"}) {
    const Result<Climb> climb = parse_climb(text);
    ASSERT_TRUE(climb) << to_string(climb.error());
    EXPECT_EQ(spell(*climb), text);
  }
  EXPECT_EQ(spell(*parse_climb("climb")), spell(Climb{}));
  EXPECT_EQ(*parse_climb("climb:yarn:ratio=1.41:beta_fast=16+cope"),
            *parse_climb("climb:ratio=1.41:yarn:beta_fast=16+cope"));
  EXPECT_EQ(*parse_climb("climb:yarn:ratio=1.41+cope"), *parse_climb("climb:ratio=1.41:yarn+cope"));
  EXPECT_EQ(parse_climb("climb:ratio=1.5")->method, Climb{}.method);
  EXPECT_EQ(parse_climb("climb:ratio=1.5")->ratio, 1.5);
}

TEST(ClimbSpelling, NamesWhatIsWrong) {
  for (const auto& [text, where] : {std::pair("climb:ratio=1", "climb.ratio"),
                                    {"climb:ratio=x:yarn", "climb.ratio"},
                                    {"climb:ratio=nan", "climb.ratio"},
                                    {"climb:none", "climb"},
                                    {"climb:yarn:factor=4", "climb.factor"},
                                    {"climb:yarn:beta_fast=x", "yarn.beta_fast"}}) {
    const Result<Climb> climb = parse_climb(text);
    ASSERT_FALSE(climb) << text;
    EXPECT_EQ(climb.error().where, where) << text;
  }
  EXPECT_FALSE(parse_climb("climbing:yarn"));
  EXPECT_FALSE(parse_climb("climb:warp"));
  EXPECT_FALSE(names_climb("climbing:yarn"));
  const Result<Method> method = parse_method("climb:mrrope-pro");
  ASSERT_FALSE(method) << "one table";
  EXPECT_EQ(method.error().code, ErrorCode::unsupported);
}

std::vector<std::int64_t> lengths(std::int64_t target, double ratio) {
  const Result<Ladder> ladder = climbing_ladder(test::llama2_spec(), target, {.method = MrRopePro{}, .ratio = ratio});
  std::vector<std::int64_t> out;
  if (!ladder) return out;
  for (const Rung& rung : ladder->rungs) out.push_back(rung.length);
  return out;
}

// Llama 2 was trained for 4096 tokens. Written by hand: 4096 * 2^(1/2) = 5792.6, * 3^(1/2) = 7094.5.
TEST(ClimbRungs, AreEqualRatiosFromTheTrainedLengthToTheTarget) {
  EXPECT_EQ(lengths(16384, 2), (std::vector<std::int64_t>{4096, 8192, 16384}));
  EXPECT_EQ(lengths(16384, 1.41), (std::vector<std::int64_t>{4096, 5793, 8192, 11585, 16384}));
  EXPECT_EQ(lengths(12288, 2), (std::vector<std::int64_t>{4096, 7094, 12288}))
      << "about two, and no step of its own at the end";
  EXPECT_EQ(lengths(4500, 2), (std::vector<std::int64_t>{4096, 4500}));
  EXPECT_EQ(lengths(4096, 2), (std::vector<std::int64_t>{4096}));
  EXPECT_EQ(lengths(1024, 2), (std::vector<std::int64_t>{1024}));
  EXPECT_EQ(lengths(4097, 1.1), (std::vector<std::int64_t>{4096, 4097}));
  EXPECT_EQ(lengths(64 * 4096, 1.19).size(), 25U);
  EXPECT_TRUE(lengths(64 * 4096, 1.1).empty()) << "45 rungs are more than a ladder has";
}

TEST(ClimbRungs, HaveTheTrainedTableAndThenTheMethodAtTheirOwnFactor) {
  const RopeSpec spec = test::llama2_spec();
  const Ladder ladder = *climbing_ladder(spec, 16384, *parse_climb("climb:yarn"));
  EXPECT_TRUE(check_ladder(ladder));
  EXPECT_EQ(ladder.rungs[0].plan.groups, make_plan(spec, 4096, None{})->groups);
  EXPECT_EQ(ladder.rungs[1].plan.groups, make_plan(spec, 8192, Yarn{})->groups);
  EXPECT_EQ(ladder.rungs[2].plan.groups, make_plan(spec, 16384, Yarn{})->groups);
  EXPECT_EQ(ladder_from_json(to_json(ladder))->rungs, ladder.rungs);
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/tune.h"
#include "tests/support/specs.h"

namespace mrrope::tune {
namespace {

const RopeSpec& tiny() {
  static const RopeSpec spec = test::spec("dim=64,base=10000,ctx=512");
  return spec;
}

std::vector<std::vector<double>> random_points(std::size_t dims, int count) {
  std::mt19937_64 random(3);
  std::vector<std::vector<double>> points;
  for (int i = 0; i < count; ++i) {
    std::vector<double>& p = points.emplace_back();
    for (std::size_t d = 0; d < dims; ++d) p.push_back(std::uniform_real_distribution(-0.2, 1.2)(random));
  }
  return points;
}

TEST(Space, EveryPointIsAPlanOfTheModel) {
  for (const RopeSpec& spec :
       {tiny(), test::llama31_spec(), test::gemma3_spec(), test::spec("dim=8,base=10000,ctx=4k")}) {
    for (const Family family : {Family::any_table, Family::yarn_keys}) {
      const Space space = *Space::of(spec, 4 * spec.context_trained, {.family = family});
      for (const std::vector<double>& point : random_points(space.axes().size(), 300)) {
        const Method method = space.at(point);
        const Result<Plan> plan = make_plan(spec, 4 * spec.context_trained, method);
        ASSERT_TRUE(plan) << spell(method) << ": " << to_string(plan.error());
        EXPECT_GE(*method.factor, 0.6 * 4 - 0.01);
        EXPECT_LE(*method.factor, 2 * 4);
      }
    }
  }
}

// Names are keys of recorded losses.
TEST(Space, MethodsAreShortToSpellAndReadBackAsThemselves) {
  const Space space = *Space::of(tiny(), 8192);
  for (const std::vector<double>& point : random_points(5, 300)) {
    const Method method = space.at(point);
    EXPECT_EQ(*parse_method(spell(method)), method);
    EXPECT_LE(spell(method).size(),
              std::string("mrrope-power:p=-0.99:low=10:high=31:attention_scale=1.234:factor=14.1").size());
    std::vector<double> near = point;
    for (double& x : near) x += 1e-7;
    if (spell(space.at(near)) != spell(method)) continue;  // a rounding edge between them
    EXPECT_EQ(space.at(near), method);
  }
}

TEST(Space, HoldsThePublishedMethodsOfItsLaw) {
  for (const RopeSpec& spec : {tiny(), test::llama2_spec(), test::llama31_spec()}) {
    const std::int64_t target = 16 * spec.context_trained;
    const Space space = *Space::of(spec, target);
    for (const Method& method : {Method{MrRopePro{}}, Method{MrRopeUni{}}}) {
      const Plan here = *make_plan(spec, target, space.at(*space.point_of(method)));
      const Plan published = *make_plan(spec, target, method);
      for (std::size_t i = 0; i < published.groups[0].pair_factors.size(); ++i) {
        EXPECT_NEAR(here.groups[0].pair_factors[i] / published.groups[0].pair_factors[i], 1, 1e-12) << i;
      }
      EXPECT_NEAR(here.groups[0].attention_scale, published.groups[0].attention_scale, 5e-4 * 1.3);  // three decimals
    }
    EXPECT_FALSE(space.point_of(Ntk{}));
    const Space keys = *Space::of(spec, target, {.family = Family::yarn_keys});
    const Band band = make_plan(spec, target, keys.at(*keys.point_of(Yarn{})))->groups[0].band;
    EXPECT_EQ(band.low, make_plan(spec, target, Yarn{})->groups[0].band.low);
    EXPECT_EQ(band.high, make_plan(spec, target, Yarn{})->groups[0].band.high);
    EXPECT_FALSE(keys.point_of(MrRopePro{}));
  }
}

// A search knows its points by what was measured.
TEST(Space, APointOfItsMethodGivesTheMethodAgain) {
  for (const Family family : {Family::any_table, Family::yarn_keys}) {
    const Space space = *Space::of(tiny(), 8192, {.family = family});
    for (const std::vector<double>& point : random_points(space.axes().size(), 300)) {
      const Method method = space.at(point);
      EXPECT_EQ(space.at(*space.point_of(method)), method) << spell(method);
    }
  }
}

// What the keys of llama.cpp say is the band as a whole: every edge moves by the same number of pairs.
TEST(Space, OfKeysShiftsTheBandByWholePairs) {
  const Space space = *Space::of(test::llama2_spec(), 65536, {.family = Family::yarn_keys});
  const Band standard = make_plan(test::llama2_spec(), 65536, Yarn{})->groups[0].band;
  EXPECT_EQ(space.axes()[0].name, "shift");
  int bands = 0;
  for (double x = 0; x <= 1; x += 1.0 / 64) {
    const Band band = make_plan(test::llama2_spec(), 65536, space.at(std::vector{x, 0.5, 0.5}))->groups[0].band;
    EXPECT_EQ(band.high - band.low, standard.high - standard.low);
    bands += band.low >= 0 && band.high <= 63 ? 1 : 0;
  }
  EXPECT_EQ(bands, 65);
}

TEST(Space, HoldsTheAttentionScaleWhereAsked) {
  const Space space = *Space::of(tiny(), 8192, {.family = Family::yarn_keys, .attention_scale = 1});
  EXPECT_EQ(space.axes().size(), 2U);
  for (const Method& method : space.fixed()) EXPECT_EQ(method.attention_scale, 1);
  EXPECT_EQ(space.at(*space.point_of(Yarn{})).attention_scale, 1);
}

TEST(Space, IsEmptyWithinTheTrainedLength) {
  EXPECT_EQ(Space::of(tiny(), 512).error().where, "context_target");
  EXPECT_FALSE(Space::of(tiny(), 0));
}

}  // namespace
}  // namespace mrrope::tune

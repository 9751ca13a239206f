// SPDX-License-Identifier: MIT
#include "mrrope/plan.h"

#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

TEST(Plan, OfAPlainModelIsTheMethodsTable) {
  const Plan plan = *make_plan(test::llama2_spec(), 65536, MrRopePro{});
  const Table t = table(test::llama2_7b(), 16, MrRopePro{});
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.factor, 16);
  EXPECT_EQ(plan.groups[0].pair_factors, t.pair_factors);
  EXPECT_EQ(plan.groups[0].inv_freq, inv_freq(test::llama2_7b(), t.pair_factors));
  EXPECT_EQ(plan.groups[0].attention_scale, t.attention_scale);
  EXPECT_EQ(plan.groups[0].band, (Band{20, 46}));
  EXPECT_EQ(plan.groups[0].lambda.size(), 63U);
  EXPECT_TRUE(plan.groups[0].trained_factors.empty());
  EXPECT_FALSE(plan.length);
}

// The target stays what was asked for; the table is the one of another target.
TEST(Plan, AFactorOfTheMethodMakesTheTableOfAnotherTarget) {
  for (const char* law : {"linear", "ntk", "gradient-base", "ntk-by-parts", "yarn", "yarn-rotations", "llama3",
                          "mrrope-uni", "mrrope-pro", "mrrope-power:p=0.3", "mrrope-mirror", "yarn+cope"}) {
    Method method = test::method(law);
    const Plan twelve = *make_plan(test::llama31_spec(), 12 * 131072, method);
    method.factor = 12;
    const Plan sixteen = *make_plan(test::llama31_spec(), 16 * 131072, method);
    EXPECT_EQ(sixteen.factor, 16) << law;
    EXPECT_EQ(table_factor(sixteen), 12) << law;
    EXPECT_EQ(table_factor(twelve), 12) << law;
    EXPECT_EQ(sixteen.groups, twelve.groups) << law;
  }
}

TEST(Plan, TargetWithinTheTrainedLengthIsTheIdentity) {
  const Plan plan = *make_plan(test::llama2_spec(), 2048, MrRopePro{});
  EXPECT_EQ(plan.factor, 1);
  EXPECT_EQ(plan.groups[0].pair_factors, std::vector<double>(64, 1.0));
}

// [T36] What is written multiplies the model's own factors, and the band is that of the angles it really saw.
TEST(Plan, ComposesWithTheModelsOwnScaling) {
  const RopeSpec spec = test::llama31_spec();
  const Plan plan = *make_plan(spec, 262144, MrRopePro{});
  const GroupPlan& g = plan.groups[0];
  const Table own = trained_table(spec, 0);
  const Table extension = table(spectrum_of(spec, 0), 2, MrRopePro{});
  EXPECT_EQ(plan.factor, 2);
  EXPECT_EQ(g.trained_factors, own.pair_factors);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_DOUBLE_EQ(g.pair_factors[i], own.pair_factors[i] * extension.pair_factors[i]);
    EXPECT_DOUBLE_EQ(g.inv_freq[i], std::pow(500000.0, -static_cast<double>(i) / 64) / g.pair_factors[i]);
  }
  EXPECT_EQ(g.pair_factors.back(), 16);
  EXPECT_EQ(g.radix.kind, Conversion::Kind::progressive);  // of the extension, not of the product
  EXPECT_EQ(exposure(plan).unseen_pairs, 0);
}

TEST(Plan, LeavesSlidingLayersAlone) {
  const Plan plan = *make_plan(test::gemma3_spec(), 524288, MrRopePro{});
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].pair_factors.back(), 32);  // 8 of its own, 4 of the extension
  EXPECT_EQ(plan.groups[1].pair_factors, std::vector<double>(128, 1.0));
  EXPECT_EQ(plan.groups[1].attention_scale, 1);
  EXPECT_EQ(plan.groups[1].radix.kind, Conversion::Kind::none);
}

TEST(Plan, ThatDependsOnTheLengthRecordsIt) {
  EXPECT_EQ(*make_plan(test::llama2_spec(), 65536, DynamicNtk{})->length, 65536);
  const Plan plan = *make_plan(test::llama2_spec(), 65536, DynamicNtk{}, 4096);
  EXPECT_EQ(*plan.length, 4096);
  EXPECT_EQ(plan.groups[0].pair_factors, std::vector<double>(64, 1.0));
}

TEST(Plan, ReachesTwoToTheTwentyFour) {
  const Plan plan = *make_plan(test::llama2_spec(), 1 << 24, MrRopePro{});
  EXPECT_EQ(plan.factor, 4096);
  EXPECT_EQ(plan.groups[0].pair_factors.back(), 4096);
}

TEST(Plan, ErrorsNameTheField) {
  const auto where = [](const Result<Plan>& plan) { return plan ? "accepted" : plan.error().where; };
  EXPECT_EQ(where(make_plan(test::llama2_spec(), 0, None{})), "context_target");
  EXPECT_EQ(where(make_plan(test::llama2_spec(), kMaxContext, None{})), "context_target");
  EXPECT_EQ(where(make_plan(test::llama2_spec(), 8192, Abf{})), "method.params.base");
  EXPECT_EQ(where(make_plan(test::llama2_spec(), 8192, Custom{{1, 2}})), "method.params.factors");
  EXPECT_EQ(where(make_plan(test::llama2_spec(), 8192, DynamicNtk{}, -1)), "length");
  EXPECT_EQ(where(make_plan(RopeSpec{}, 8192, None{})), "spec.context_trained");
}

}  // namespace
}  // namespace mrrope

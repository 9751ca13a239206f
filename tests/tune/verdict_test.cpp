// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "mrrope/statistics.h"
#include "mrrope/tune.h"
#include "tests/support/specs.h"
#include "tests/tune/objective.h"

namespace mrrope::tune {
namespace {

// P(at most k of n) for a coin of 5 %.
double binomial_tail(int k, int n) {
  double sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) + i * std::log(0.05) +
                    (n - i) * std::log(0.95));
  }
  return sum;
}

std::vector<double> held_out(const test::Objective& objective, const Method& method, std::size_t items) {
  std::vector<double> out;
  for (std::size_t i = 0; i < items; ++i) out.push_back(objective.loss(method, i).beyond);
  return out;
}

// The trap of the best of many: on the tuning set the winner of a search through noise looks better than anything; on
// held-out items it must not. All candidates are the same table under different names.
TEST(NullExperiment, VerdictStaysSilentWhereThereIsNothingToFind) {
  constexpr int kRuns = 400;
  const Space space = *Space::of(mrrope::test::spec("dim=64,base=10000,ctx=512"), 8192);
  int recommended = 0;
  int fooled = 0;  // had the tuning set been asked about yarn
  for (int run = 0; run < kRuns; ++run) {
    const auto seed = static_cast<std::uint64_t>(run + 1);
    Search s(space, {.items = 12, .tokens = 1200, .token_budget = 15 * 1200, .seed = seed});
    const test::Objective objective{.seed = seed, .flat = true};
    test::drive(s, objective, 12);
    const auto decide = [&](const test::Objective& data, const Candidate& against, std::size_t items) {
      const Measured tuned{.name = s.best().name(), .ppl_long = held_out(data, s.best().method, items)};
      const std::vector<Measured> fixed = {{.name = against.name(), .ppl_long = held_out(data, against.method, items)}};
      return verdict(tuned, fixed, against.name(), Metric::ppl_long).recommended == "tuned";
    };
    recommended += decide({.seed = seed + 100'000, .flat = true}, s.best_fixed(), run % 2 == 0 ? 12 : 5) ? 1 : 0;
    fooled += decide(objective, s.candidates()[0], 12) ? 1 : 0;
  }
  // At a rate of 5 % or more, as few as this would come in fewer than one experiment of twenty.
  EXPECT_LT(binomial_tail(recommended, kRuns), 0.05) << recommended << " of " << kRuns;
  RecordProperty("recommended", recommended);
  RecordProperty("fooled", fooled);
  EXPECT_GT(fooled, kRuns / 10);
}

TEST(Verdict, RecommendsATableThatIsBetterOnHeldOutItems) {
  const test::Objective objective;
  const Space space = *Space::of(mrrope::test::spec("dim=64,base=10000,ctx=512"), 8192);
  Search s(space, {.items = 16, .tokens = 1600, .token_budget = 40 * 1600});
  test::drive(s, objective, 16);
  const test::Objective unseen{.seed = 77};
  std::vector<Measured> fixed;
  for (const Method& method : space.fixed()) {
    fixed.push_back({.name = spell(method), .ppl_long = held_out(unseen, method, 16)});
  }
  const Measured tuned{.name = "t", .ppl_long = held_out(unseen, s.best().method, 16)};
  const Verdict v = verdict(tuned, fixed, s.best_fixed().name(), Metric::ppl_long);
  EXPECT_EQ(v.recommended, "tuned");
  ASSERT_EQ(v.differences.size(), space.fixed().size());
  // 5 % is what the objective takes from other laws, exp(-0.05) - 1
  EXPECT_NEAR(v.differences[0].difference, -0.0488, 0.01);
  EXPECT_TRUE(v.differences[0].better);
}

TEST(Verdict, ComparesEveryMetricInItsOwnUnit) {
  const std::vector<double> low = {1.0, 2.0, 3.0, 4.0};
  const std::vector<double> high = {1.1, 2.1, 3.1, 4.1};
  const Measured tuned{.name = "t", .ppl_long = low, .ppl_short = high, .answer_nll = low, .score = {1, 1, 0}};
  const Measured yarn{.name = "yarn", .ppl_long = high, .ppl_short = low, .answer_nll = high, .score = {1, 0, 0}};
  const Verdict v = verdict(tuned, std::vector{yarn}, "yarn", Metric::ppl_long);
  ASSERT_EQ(v.differences.size(), 4U);
  EXPECT_NEAR(v.differences[0].difference, std::exp(-0.1) - 1, 1e-12);
  EXPECT_NEAR(v.differences[1].difference, std::exp(0.1) - 1, 1e-12);
  EXPECT_NEAR(v.differences[2].difference, -0.1, 1e-12);
  EXPECT_NEAR(v.differences[3].difference, 1.0 / 3, 1e-12);
  EXPECT_STREQ(to_string(v.differences[3].metric), "score");
  EXPECT_TRUE(v.differences[1].worse);
  EXPECT_EQ(v.recommended, "tuned");
  EXPECT_EQ(verdict(tuned, std::vector{yarn}, "yarn", Metric::ppl_short).recommended, "yarn");
  // One hit more of three proves nothing
  EXPECT_EQ(verdict(tuned, std::vector{yarn}, "yarn", Metric::score).recommended, "yarn");
}

// Student's interval of four values, by hand: mean -0.1, s = 0.0816, t = 3.182, so ± 0.13.
TEST(Verdict, IntervalIsStudentsForFewItems) {
  const Measured tuned{.name = "t", .answer_nll = {0.8, 1.0, 0.9, 0.9}};
  const Measured pro{.name = "mrrope-pro", .answer_nll = {1, 1, 1, 1}};
  const Difference d = verdict(tuned, std::vector{pro}, "mrrope-pro", Metric::answer_nll).differences[0];
  EXPECT_NEAR(d.difference, -0.1, 1e-12);
  EXPECT_NEAR(d.high, -0.1 + 3.182 * std::sqrt(0.02 / 3 / 4), 1e-4);
  EXPECT_FALSE(d.better);
}

// Two texts have an interval of t = 12.7; that is no ground for a recommendation, however far they are.
TEST(Verdict, TwoItemsAreTooFew) {
  const Measured tuned{.name = "t", .ppl_long = {1, 1}};
  const Measured pro{.name = "mrrope-pro", .ppl_long = {2, 2}};
  EXPECT_EQ(verdict(tuned, std::vector{pro}, "mrrope-pro", Metric::ppl_long).recommended, "mrrope-pro");
}

}  // namespace
}  // namespace mrrope::tune

// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "mrrope/tune.h"
#include "tests/support/specs.h"
#include "tests/tune/objective.h"

namespace mrrope::tune {
namespace {

constexpr std::size_t kItems = 16;

Space space() { return *Space::of(mrrope::test::spec("dim=64,base=10000,ctx=512"), 8192); }

Search search(std::int64_t evaluations, std::uint64_t seed = 1) {
  return {space(),
          {.item_tokens = std::vector<std::int64_t>(kItems, 1000),
           .token_budget = evaluations * static_cast<std::int64_t>(kItems) * 1000,
           .seed = seed}};
}

std::vector<std::string> names(const Search& s) {
  std::vector<std::string> out;
  for (const Candidate& c : s.candidates()) out.push_back(c.name());
  return out;
}

TEST(Search, MeasuresEveryFixedMethodInFullWhateverTheBudget) {
  Search s = search(0);
  test::drive(s, {});
  for (std::size_t i = 0; i < space().fixed().size(); ++i) EXPECT_EQ(s.candidates()[i].losses.size(), kItems);
  EXPECT_EQ(s.tokens(), static_cast<std::int64_t>(space().fixed().size() * kItems) * 1000);
  EXPECT_EQ(&s.best(), &s.best_fixed());
}

TEST(Search, FindsTheKnownOptimumOfANoisyBowl) {
  const test::Objective objective{.spread = 0.002};
  std::vector<double> left;
  for (std::uint64_t seed = 1; seed <= 9; ++seed) {
    Search s = search(40, seed);
    test::drive(s, objective);
    left.push_back(objective.excess(s.best().method));
    EXPECT_FALSE(s.best().fixed);
  }
  std::sort(left.begin(), left.end());
  // Fixed methods lose 0.05, and a band that is one pair off 0.0012 or 0.0008 at each end. The noise of a difference of
  // two means is 0.0007.
  EXPECT_LT(left[4], 0.004);
  EXPECT_LT(left[8], 0.02);
}

TEST(Search, NeverReturnsWorseThanTheBestFixedMethodOnItsItems) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test::Objective objective{.seed = seed, .spread = 0.3};
    Search s = search(12, seed);
    test::drive(s, objective);
    EXPECT_LE(preferred(s.best().mean(), Prefer::long_texts), preferred(s.best_fixed().mean(), Prefer::long_texts));
    EXPECT_EQ(s.best().losses.size(), kItems);
  }
}

TEST(Search, KeepsToItsBudgetAndUsesIt) {
  for (const int evaluations : {6, 10, 25, 60}) {
    Search s = search(evaluations);
    test::drive(s, {});
    EXPECT_LE(s.tokens(), evaluations * 16'000);
    EXPECT_GT(s.tokens(), (evaluations - 1) * 16'000);  // less than the rest of one candidate is left
  }
}

TEST(Search, GivesUpMostCandidatesEarly) {
  Search s = search(40);
  test::drive(s, {});
  std::size_t early = 0;
  for (const Candidate& c : s.candidates()) early += c.losses.size() <= kItems / 4 ? 1U : 0U;
  EXPECT_GT(s.candidates().size(), 80U);
  EXPECT_GT(early, s.candidates().size() / 2);
}

TEST(Search, TriesNoMethodTwice) {
  Search s = search(60);
  test::drive(s, {});
  const std::vector<std::string> all = names(s);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

// What a run folder holds is enough: the losses, by method and item.
TEST(Search, GoesOnFromRecordedLossesAsIfNeverInterrupted) {
  const test::Objective objective{.spread = 0.05};
  Search whole = search(30);
  test::drive(whole, objective);
  for (const int cut : {0, 1, 3, 20, 77}) {
    Search first = search(30);
    test::drive(first, objective, cut);
    Search again = search(30);
    test::drive(again, objective, cut);
    EXPECT_EQ(names(again), names(first));
    test::drive(again, objective);
    EXPECT_EQ(names(again), names(whole));
    EXPECT_EQ(again.best().name(), whole.best().name());
  }
  Search other = search(30, 2);
  test::drive(other, objective);
  EXPECT_NE(names(other), names(whole));
}

TEST(Search, ASpaceThatIsUsedUpEndsIt) {
  const Space keys = *Space::of(mrrope::test::spec("dim=4,base=10000,ctx=64"), 128,
                                {.family = Family::yarn_keys, .attention_scale = 1});
  Search s(keys, {.item_tokens = {1, 1}, .token_budget = 1'000'000});
  test::drive(s, {.flat = true});
  EXPECT_LT(s.tokens(), 1'000'000);
}

TEST(Front, KeepsWhatNobodyBeatsOnBothSides) {
  const auto candidate = [](double within, double beyond) {
    return Candidate{None{}, {}, {{beyond, within}, {beyond, within}}, false};
  };
  std::vector<Candidate> all = {candidate(2, 2), candidate(1, 3), candidate(3, 1),
                                candidate(2, 3), candidate(3, 1), candidate(0, 9)};
  all.push_back({None{}, {}, {{0, 0}}, false});  // not complete
  EXPECT_EQ(front(all), (std::vector<std::size_t>{5, 1, 0, 2}));
  EXPECT_TRUE(front({}).empty());
}

TEST(Front, HoldsWhatEveryPreferenceChooses) {
  for (const Prefer prefer : {Prefer::long_texts, Prefer::balanced, Prefer::short_texts}) {
    Search s(
        space(),
        {.item_tokens = std::vector<std::int64_t>(kItems, 1000), .token_budget = 30 * kItems * 1000, .prefer = prefer});
    test::drive(s, {.spread = 0.2});
    const std::vector<std::size_t> f = front(s.candidates());
    EXPECT_TRUE(std::any_of(f.begin(), f.end(), [&](std::size_t i) { return &s.candidates()[i] == &s.best(); }));
  }
}

}  // namespace
}  // namespace mrrope::tune

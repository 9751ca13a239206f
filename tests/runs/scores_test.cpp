// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "mrrope/statistics.h"
#include "tests/support/answers.h"

namespace mrrope::eval {
namespace {

using test::answer_record;

// `scores` of samples 0, 1, … under one method.
void add(std::vector<Record>& records, const std::string& task, const std::string& method, std::int64_t length,
         const std::vector<double>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    records.push_back(answer_record(
        {.task = task, .method = method, .length = length, .index = static_cast<std::int64_t>(i), .score = scores[i]}));
  }
}

std::vector<double> repeat(double value, std::size_t times) { return std::vector<double>(times, value); }

TEST(Scores, ARowIsTheMeanOfItsSamplesWithTheirSpread) {
  std::vector<Record> records;
  add(records, "qa_1", "yarn", 8192, {1, 0, 1, 1});
  add(records, "vt", "yarn", 4096, {0.2, 0.4, 0.9});
  add(records, "qa_1", "yarn", 4096, {1});
  add(records, "qa_1", "none", 4096, {0, 0});
  Record pass;  // of a ppl run
  pass.task = "ppl";
  pass.reading()->points = {{512, 511, 1}};
  records.push_back(pass);
  const std::vector<ScoreRow> rows = score_table(records);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].task, "qa_1");
  EXPECT_EQ(rows[0].length, 4096);
  EXPECT_EQ(rows[0].stderr_score, 0);
  EXPECT_EQ(rows[1].length, 8192);
  EXPECT_DOUBLE_EQ(rows[1].score, 0.75);
  EXPECT_DOUBLE_EQ(rows[1].stderr_score, std::sqrt(0.75 * 0.25 / 3));  // p (1 - p) / (n - 1), as lm-eval has it
  EXPECT_EQ(rows[2].method, "none");
  EXPECT_EQ(rows[3].task, "vt");
  EXPECT_DOUBLE_EQ(rows[3].score, 0.5);
  // By hand: squares 0.09 + 0.01 + 0.16 = 0.26; / 2 / 3
  EXPECT_NEAR(rows[3].stderr_score, std::sqrt(0.26 / 6), 1e-15);
}

TEST(Scores, CutAndEmptyAnswersAreCounted) {
  std::vector<Record> records;
  add(records, "cwe", "yarn", 4096, repeat(0, 8));
  records[0].answer()->finish = "length";
  records[1].answer()->finish = "length";
  records[2].answer()->text = " \n\t";
  const std::vector<ScoreRow> rows = score_table(records);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].cut, 0.25);
  EXPECT_EQ(rows[0].empty, 0.125);
  EXPECT_EQ(rows[0].samples, 8U);
}

TEST(Scores, TheHeadlineIsThePlainMeanOfTheTasks) {
  std::vector<Record> records;
  add(records, "a", "yarn", 4096, {1, 1, 0, 0});  // 0.5, variance of the mean 1/12
  add(records, "b", "yarn", 4096, repeat(1, 100));
  const std::vector<MeanScoreRow> rows = mean_scores(score_table(records));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].tasks, 2U);
  EXPECT_DOUBLE_EQ(rows[0].score, 0.75);
  EXPECT_NEAR(rows[0].stderr_score, std::sqrt(1.0 / 12) / 2, 1e-15);
  // Square and add, by hand: Wilson's intervals of the tasks are 0.15004 to 0.84996 and 0.96301 to 1
  EXPECT_NEAR(rows[0].low, 0.75 - std::hypot(0.34996, 0.03699) / 2, 1e-5);
  EXPECT_NEAR(rows[0].high, 0.75 + 0.34996 / 2, 1e-5);
}

// Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
TEST(Scores, TheIntervalOfAShareIsWilsons) {
  const auto expect = [](std::size_t right, std::size_t n, double low, double high) {
    const Interval found = wilson95(static_cast<double>(right) / static_cast<double>(n), n);
    EXPECT_NEAR(found.low, low, 5e-5) << right << " of " << n;
    EXPECT_NEAR(found.high, high, 5e-5) << right << " of " << n;
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
}

// The story: five right answers of five were printed as "100.0 ± 0.0".
TEST(Scores, FiveOfFiveIsNotCertain) {
  std::vector<Record> records;
  add(records, "t", "a", 4096, repeat(1, 5));
  const ScoreRow row = score_table(records).front();
  EXPECT_NEAR(row.low, 5 / (5 + 1.959964 * 1.959964), 1e-9);  // Wilson's where all are right: n / (n + z^2)
  EXPECT_EQ(row.high, 1);
  const MeanScoreRow mean = mean_scores(score_table(records)).front();
  EXPECT_DOUBLE_EQ(mean.low, row.low);  // of one task the mean is that task
  EXPECT_EQ(mean.high, 1);
}

TEST(Scores, TheEffectiveLengthIsTheLongestAboveTheThreshold) {
  std::vector<Record> records;
  for (const std::string task : {"a", "b"}) {
    add(records, task, "yarn", 4096, repeat(1, 200));
    std::vector<double> most = repeat(1, 88);
    most.resize(100, 0);
    add(records, task, "yarn", 8192, most);
    add(records, task, "yarn", 16384, repeat(0.5, 100));
  }
  add(records, "a", "yarn", 32768, repeat(1, 100));  // a single task does not make a mean
  const std::vector<MeanScoreRow> rows = mean_scores(score_table(records));
  const EffectiveLength found = effective_length(rows, "yarn", 4);
  EXPECT_EQ(found.length, 8192);
  EXPECT_EQ(found.sure, 4096);  // 0.88 of 200 samples may be 0.83
  EXPECT_EQ(effective_length(rows, "yarn", 4, 0.4).sure, 16384);
  EXPECT_EQ(effective_length(rows, "yarn", 8).length, 0);
}

TEST(Scores, AMeanOverFewerTasksThanAnotherPlanHasReachesNowhere) {
  std::vector<Record> records;
  for (const std::string task : {"easy", "hard"}) {
    add(records, task, "yarn", 4096, repeat(task == "easy" ? 1 : 0.9, 200));
  }
  add(records, "easy", "ntk", 4096, repeat(1, 200));
  const std::vector<MeanScoreRow> rows = mean_scores(score_table(records));
  EXPECT_EQ(effective_length(rows, "yarn", 4).length, 4096);
  EXPECT_EQ(effective_length(rows, "ntk", 4).length, 0);
}

TEST(Scores, AFewRightAnswersProveLittle) {
  std::vector<Record> records;
  add(records, "a", "yarn", 4096, repeat(1, 5));
  const EffectiveLength found = effective_length(mean_scores(score_table(records)), "yarn", 4);
  EXPECT_EQ(found.length, 4096);
  EXPECT_EQ(found.sure, 0);
}

// R: binom.test(1, 10)$p.value, binom.test(0, 6)$p.value, binom.test(40, 100)$p.value
TEST(Scores, TheSignTestIsExact) {
  const auto p_of = [](std::size_t a_wins, std::size_t b_wins) {
    std::vector<Record> records;
    std::vector<double> a = repeat(1, a_wins);
    std::vector<double> b = repeat(0, a_wins);
    a.resize(a_wins + b_wins, 0);
    b.resize(a_wins + b_wins, 1);
    a.push_back(1);  // a tie says nothing
    b.push_back(1);
    add(records, "t", "a", 4096, a);
    add(records, "t", "b", 4096, b);
    return compare_scores(records, "a", 4, "b", 4, "t", 4096).p_value;
  };
  EXPECT_NEAR(p_of(9, 1), 0.021484375, 1e-12);
  EXPECT_NEAR(p_of(0, 6), 0.03125, 1e-12);
  EXPECT_NEAR(p_of(60, 40), 0.05688793, 1e-8);
  EXPECT_EQ(p_of(5, 5), 1);
  EXPECT_EQ(p_of(0, 0), 1);
  EXPECT_LT(p_of(2000, 1000), 1e-60);  // 2^-3000 is no double
  EXPECT_GT(p_of(2000, 1000), 1e-80);
}

// Fisher 1935, The Design of Experiments, section 21: Darwin's 15 pairs of maize. 863 of the 32768 choices of signs
// give a sum of 314 or more, and as many -314 or less.
TEST(Scores, GradedDifferencesAreJudgedByThePermutationTest) {
  std::vector<ScorePair> pairs;
  for (const int d : {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}) {
    pairs.push_back({d > 0 ? d / 100.0 : 0, d > 0 ? 0 : -d / 100.0});
  }
  pairs.push_back({0.3, 0.3});  // a tie says nothing
  const ScoreComparison c = compare_scores(pairs);
  EXPECT_NEAR(c.p_value, 2 * 863 / 32768.0, 1e-12);
  EXPECT_FALSE(c.differs);
}

// Beyond 16 samples signs are drawn; 10 000 draws of a p of 0.05 have a standard error of 0.0022.
TEST(Scores, ManyGradedDifferencesGetTheSameTest) {
  std::mt19937 random(7);
  std::vector<ScorePair> pairs;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 400; ++i) {
    const double d = (static_cast<double>(random() % 1000) - 450) / 1000;
    pairs.push_back({d > 0 ? d : 0, d > 0 ? 0 : -d});
    sum += d;
    squares += d * d;
  }
  const double normal = std::erfc(std::fabs(sum) / std::sqrt(2 * squares));  // of a sum of 400 it is near enough
  EXPECT_NEAR(compare_scores(pairs).p_value, normal, 0.01);
}

// Five of a hundred differ, all to one side: resampling leaves 0 out, and five coins do as much once in sixteen times.
TEST(Scores, WhereTestAndIntervalDisagreeTheTestDecidesAndThatIsSaid) {
  std::vector<ScorePair> pairs(5, {1, 0});
  pairs.resize(100, {1, 1});
  const ScoreComparison five = compare_scores(pairs);  // 5 to 0 of 100
  EXPECT_GT(five.low, 0);
  EXPECT_EQ(five.p_value, 0.0625);
  EXPECT_TRUE(five.disputed());
  EXPECT_FALSE(five.differs);
  EXPECT_TRUE(five.verdict().starts_with("tied (+5.0 ")) << five.verdict();
  EXPECT_TRUE(five.verdict().ends_with("; the interval says it is not 0, the test decides: p = 0.062)"))
      << five.verdict();
  EXPECT_FALSE(five.cell().ends_with("*"));
}

// Against another computation of the same: the differences one by one, and the normal interval.
TEST(Scores, PairsAreComparedSampleBySample) {
  std::mt19937 random(1);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 400; ++i) {
    b.push_back(random() % 2 == 0 ? 1 : 0);
    a.push_back(random() % 5 == 0 ? 1 : b.back());  // only ever better
  }
  std::vector<Record> records;
  add(records, "t", "mrrope-pro", 4096, a);
  add(records, "t", "yarn", 4096, b);
  add(records, "t", "yarn", 8192, repeat(0, 400));      // another length,
  add(records, "other", "yarn", 4096, repeat(0, 400));  // another task
  add(records, "t", "none", 4096, repeat(0, 400));      // and another plan stay out of it
  std::shuffle(records.begin(), records.end(), random);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += 100 * (a[i] - b[i]);
    squares += 1e4 * (a[i] - b[i]) * (a[i] - b[i]);
  }
  const double mean = sum / 400;
  const double half = 1.96 * std::sqrt((squares / 400 - mean * mean) / 399);
  const ScoreComparison c = compare_scores(records, "mrrope-pro", 4, "yarn", 4, "t", 4096);
  EXPECT_EQ(c.samples, 400U);
  EXPECT_NEAR(c.difference, mean, 1e-12);
  EXPECT_NEAR(c.low, mean - half, 0.25);  // one sample in 400: resampled means know nothing finer
  EXPECT_NEAR(c.high, mean + half, 0.25);
  EXPECT_EQ(c.b_better, 0U);
  EXPECT_TRUE(c.differs);
  EXPECT_EQ(c.verdict(), fmt::format("{:+.1f} ± {:.1f} points", mean, (c.high - c.low) / 2));

  // The order of the records is nobody's business
  std::shuffle(records.begin(), records.end(), random);
  const ScoreComparison again = compare_scores(records, "mrrope-pro", 4, "yarn", 4, "t", 4096);
  EXPECT_EQ(again.low, c.low);
  EXPECT_EQ(again.high, c.high);
  const ScoreComparison back = compare_scores(records, "yarn", 4, "mrrope-pro", 4, "t", 4096);
  EXPECT_EQ(back.difference, -c.difference);
  EXPECT_EQ(back.p_value, c.p_value);
}

TEST(Scores, ManyPairsGiveTheSameIntervalWithoutResampling) {
  std::mt19937 random(3);
  std::vector<double> fewer;
  for (int i = 0; i < 1000; ++i) fewer.push_back(static_cast<double>(random() % 11) / 10);
  std::vector<double> more = fewer;
  more.push_back(0.5);
  const auto half_of = [](const std::vector<double>& scores) {
    std::vector<Record> records;
    add(records, "t", "a", 4096, scores);
    add(records, "t", "b", 4096, repeat(0.5, scores.size()));
    const ScoreComparison c = compare_scores(records, "a", 4, "b", 4, "t", 4096);
    return (c.high - c.low) / 2;
  };
  EXPECT_NEAR(half_of(more) / half_of(fewer), 1, 0.03);
}

TEST(Scores, ASampleThatWasAnsweredTwiceCountsOnce) {
  std::vector<Record> records;
  add(records, "s", "a", 4096, {1, 0, 1, 0});
  add(records, "s", "a", 4096, {1, 0, 1, 0});
  ASSERT_EQ(score_table(records).size(), 1U);
  EXPECT_EQ(score_table(records)[0].samples, 4U);
}

TEST(Scores, WithoutATaskAllOfThemCount) {
  std::vector<Record> records;
  add(records, "s", "a", 4096, repeat(1, 10));
  add(records, "s", "b", 4096, repeat(0, 10));
  add(records, "t", "a", 4096, repeat(1, 10));
  add(records, "t", "b", 4096, repeat(1, 10));
  EXPECT_EQ(compare_scores(records, "a", 4, "b", 4, "", 4096).difference, 50);
  EXPECT_EQ(compare_scores(records, "a", 4, "b", 4, "", 4096).samples, 20U);
  EXPECT_EQ(compare_scores(records, "a", 4, "b", 4, "s", 4096).verdict(), "+100.0 points (+74.1 to +100.0)");
  EXPECT_EQ(compare_scores(records, "a", 4, "b", 4, "t", 4096).verdict(), "tied (+0.0 ± 25.9 points)");
  EXPECT_EQ(compare_scores(records, "a", 4, "none", 1, "", 4096).verdict(), "nothing to compare");
}

// Of 100 ties, up to 3 of 100 others may have been missed: 1 - 0.05^(1/100).
TEST(Scores, ThatAreAllAlikeHaveAnInterval) {
  std::vector<Record> records;
  add(records, "t", "a", 4096, repeat(1, 100));
  add(records, "t", "b", 4096, repeat(1, 100));
  add(records, "t", "c", 4096, repeat(0, 100));
  const ScoreComparison ties = compare_scores(records, "a", 4, "b", 4, "t", 4096);
  EXPECT_NEAR(ties.high, 2.9513, 1e-4);
  EXPECT_NEAR(ties.low, -2.9513, 1e-4);
  const ScoreComparison all = compare_scores(records, "a", 4, "c", 4, "t", 4096);
  EXPECT_EQ(all.high, 100);
  EXPECT_NEAR(all.low, 100 - 2.9513, 1e-4);
  EXPECT_TRUE(all.differs);
}

// All five for a, and yet one time in sixteen that is chance.
TEST(Scores, FiveOfFiveIsNotADifference) {
  std::vector<Record> records;
  add(records, "t", "a", 4096, repeat(1, 5));
  add(records, "t", "b", 4096, repeat(0, 5));
  const ScoreComparison c = compare_scores(records, "a", 4, "b", 4, "t", 4096);
  EXPECT_EQ(c.p_value, 0.0625);
  EXPECT_FALSE(c.differs);
  EXPECT_EQ(c.verdict(), "too few samples (5) to tell (+100.0 points)");
  EXPECT_EQ(c.cell(), "+100.0 (n = 5)");
  std::vector<Record> one;
  add(one, "t", "a", 4096, {1});
  add(one, "t", "b", 4096, {0});
  EXPECT_EQ(compare_scores(one, "a", 4, "b", 4, "t", 4096).verdict(), "too few samples (1) to tell (+100.0 points)");
  EXPECT_EQ(compare_scores(one, "a", 4, "b", 4, "t", 4096).cell(), "+100.0 (n = 1)");
}

// 200 experiments with two equal plans: one in twenty may look different.
TEST(Scores, NoDifferenceIsFoundWhereThereIsNone) {
  std::mt19937 random(4);
  int found = 0;
  for (int experiment = 0; experiment < 200; ++experiment) {
    std::vector<Record> records;
    for (const std::string method : {"a", "b"}) {
      std::vector<double> scores;
      for (int i = 0; i < 50; ++i) scores.push_back(random() % 10 < 7 ? 1 : 0);
      add(records, "t", method, 4096, scores);
    }
    if (compare_scores(records, "a", 4, "b", 4, "t", 4096).differs) ++found;
  }
  EXPECT_LE(found, 14);  // 10 expected at most, exact tests find fewer
}

// Eight samples of two tasks; a finds the right answer likelier by 0.5 nats a token, give or take 0.1.
std::vector<Record> likelihoods(std::size_t samples, double better) {
  std::vector<Record> records;
  for (std::size_t i = 0; i < samples; ++i) {
    for (const std::string method : {"a", "b"}) {
      Record r = test::answer_record(
          {.task = i % 2 == 0 ? "short" : "long", .method = method, .index = std::ssize(records) / 2});
      const std::int64_t tokens = i % 2 == 0 ? 3 : 30;
      const double level = method == "a" ? 1.0 : 1.0 + better + (i % 4 < 2 ? 0.1 : -0.1);
      r.answer()->right = RightAnswer{.nll = level * static_cast<double>(tokens), .tokens = tokens};
      records.push_back(r);
    }
  }
  return records;
}

TEST(Likelihoods, CountPerTokenSoThatLongAnswersDoNotRule) {
  const NllComparison c = compare_nll(likelihoods(8, 0.5), "a", 4, "b", 4, "", 4096);
  EXPECT_EQ(c.samples, 8U);
  EXPECT_NEAR(c.difference, -0.5, 1e-12);
  EXPECT_TRUE(c.differs);
  EXPECT_LT(c.high, -0.4);
  EXPECT_EQ(compare_nll(likelihoods(8, 0.5), "a", 4, "b", 4, "long", 4096).samples, 4U);
  const std::vector<MeanScoreRow> means = mean_scores(score_table(likelihoods(8, 0.5)));
  ASSERT_EQ(means.size(), 2U);
  EXPECT_NEAR(means[0].nll.value(), 1.0, 1e-12);
  EXPECT_NEAR(means[1].nll.value(), 1.5, 1e-12);
}

TEST(Likelihoods, AreComparedWhereBothAreKnown) {
  std::vector<Record> records = likelihoods(8, 0);
  for (std::size_t i = 0; i < 4; ++i) records[i].answer()->right.reset();  // the first two samples
  EXPECT_EQ(compare_nll(records, "a", 4, "b", 4, "", 4096).samples, 6U);
  EXPECT_FALSE(compare_nll(records, "a", 4, "b", 4, "", 4096).differs);
  for (Record& r : records) r.answer()->right.reset();
  EXPECT_EQ(compare_nll(records, "a", 4, "b", 4, "", 4096).cell(), "-");
  EXPECT_FALSE(mean_scores(score_table(records))[0].nll);
}

}  // namespace
}  // namespace mrrope::eval

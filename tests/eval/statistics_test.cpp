// SPDX-License-Identifier: MIT
#include "mrrope/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mrrope {
namespace {

Record record(const std::string& method, const std::string& document, std::vector<double> bucket_means) {
  Record r;
  r.task = "ppl";
  r.method = method;
  r.factor = method == "none" ? 1 : 4;
  r.document = document;
  r.document_hash = document;
  r.bucket = 256;
  double sum = 0;
  for (std::size_t b = 0; b < bucket_means.size(); ++b) {
    const double tokens = b == 0 ? 255 : 256;
    r.bucket_nll.push_back(bucket_means[b] * tokens);
    sum += r.bucket_nll.back();
  }
  const auto length = static_cast<std::int64_t>(256 * bucket_means.size());
  r.points = {{length, length - 1, sum}};
  return r;
}

TEST(Statistics, EstimateIsTheMeanAndItsStandardError) {
  const Estimate e = estimate(std::vector<double>{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(e.mean, 2.5);
  EXPECT_DOUBLE_EQ(e.stderr_mean, std::sqrt(5.0 / 3 / 4));
  EXPECT_EQ(estimate(std::vector<double>{7}).stderr_mean, 0);
}

// R: qt(0.975, df)
TEST(Statistics, StudentsTIsTheTablesAndTendsToTheNormal) {
  EXPECT_NEAR(student_t95(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t95(9), 2.262, 1e-3);
  EXPECT_NEAR(student_t95(31), 2.0395, 1e-4);
  EXPECT_NEAR(student_t95(60), 2.0003, 1e-4);
  EXPECT_NEAR(student_t95(1000), 1.9623, 1e-4);
}

// scipy.stats.spearmanr
TEST(Statistics, RankCorrelationHandlesTies) {
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{3, 2, 1}), -1);
  EXPECT_NEAR(rank_correlation(std::vector<double>{1, 2, 2, 3}, std::vector<double>{1, 2, 3, 4}), 0.9486832980505138,
              1e-15);
}

TEST(Statistics, PerplexityIsTheMeanOverDocumentsOfTheirMeans) {
  const std::vector<Record> records = {record("yarn", "a", std::vector<double>(8, 1.0)),
                                       record("yarn", "b", std::vector<double>(8, 3.0))};
  const std::vector<PplRow> table = ppl_table(records);
  ASSERT_EQ(table.size(), 1U);
  EXPECT_NEAR(table[0].ppl, std::exp(2.0), 1e-12);
  EXPECT_NEAR(table[0].stderr_ppl, std::exp(2.0) * 1.0, 1e-12);
  EXPECT_EQ(table[0].documents, 2U);
}

TEST(Statistics, TheLastStretchShowsWhatTheMeanHides) {
  std::vector<double> means(32, 1.0);
  for (std::size_t b = 24; b < 32; ++b) means[b] = 5;
  const std::vector<PplRow> table = ppl_table(std::vector{record("none", "a", means)});
  EXPECT_NEAR(table[0].last_ppl, std::exp(5.0), 1e-9);
  EXPECT_LT(table[0].ppl, std::exp(2.1));
}

// Documents differ by far more than methods; pairs do not.
TEST(Statistics, PairsFindADifferenceThatMeansCannot) {
  std::mt19937 random(1);
  std::normal_distribution<double> text(2, 1);
  std::normal_distribution<double> noise(0, 0.002);
  std::vector<Record> records;
  for (int d = 0; d < 10; ++d) {
    const double level = text(random);
    records.push_back(record("yarn", std::to_string(d), std::vector<double>(8, level)));
    records.push_back(record("mrrope-pro", std::to_string(d), std::vector<double>(8, level - 0.02 + noise(random))));
  }
  const Comparison c = compare_ppl(records, "mrrope-pro", 4, "yarn", 4, 2048);
  EXPECT_EQ(c.documents, 10U);
  EXPECT_TRUE(c.differs);
  EXPECT_NEAR(c.ratio, std::exp(-0.02), 0.002);
  EXPECT_LT(c.ratio_high, 1);
  EXPECT_NE(c.verdict().find("lower"), std::string::npos);
  const Comparison back = compare_ppl(records, "yarn", 4, "mrrope-pro", 4, 2048);
  EXPECT_NEAR(back.ratio * c.ratio, 1, 1e-12);
}

// 200 experiments without a difference: about one in twenty may look like one.
TEST(Statistics, NoDifferenceIsFoundWhereThereIsNone) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 0.05);
  int found = 0;
  for (int experiment = 0; experiment < 200; ++experiment) {
    std::vector<Record> records;
    for (int d = 0; d < 10; ++d) {
      records.push_back(record("yarn", std::to_string(d), std::vector<double>(8, 2 + noise(random))));
      records.push_back(record("linear", std::to_string(d), std::vector<double>(8, 2 + noise(random))));
    }
    if (compare_ppl(records, "linear", 4, "yarn", 4, 2048).differs) ++found;
  }
  // The percentile bootstrap of ten values is a little narrow: 5 % nominal, some 8 % in truth (binomial spread 2 %)
  EXPECT_LE(found, 30);
}

TEST(Statistics, TwoDocumentsAreTooFewToCallPlansAlike) {
  std::vector<Record> records;
  for (const double level : {1.0, 2.0}) {
    records.push_back(record("yarn", std::to_string(level), std::vector<double>(8, level)));
    records.push_back(record("linear", std::to_string(level), std::vector<double>(8, level * 2)));
  }
  EXPECT_EQ(compare_ppl(records, "linear", 4, "yarn", 4, 2048).verdict().find("too few to tell"), 0U);
}

// 1, 2 and 3 nats worse: e^2 times, give or take student_t95(2) / sqrt(3) nats.
TEST(Statistics, AWideIntervalIsGivenAsAFactorWithItsBounds) {
  std::vector<Record> records;
  for (const double level : {1.0, 2.0, 3.0}) {
    records.push_back(record("yarn", std::to_string(level), std::vector<double>(8, level)));
    records.push_back(record("linear", std::to_string(level), std::vector<double>(8, level * 2)));
  }
  const Comparison worse = compare_ppl(records, "linear", 4, "yarn", 4, 2048);
  EXPECT_FALSE(worse.differs);
  EXPECT_EQ(worse.verdict(), "no difference (7.4 times as high, 0.6 to 88.6)");
  EXPECT_EQ(worse.cell(), "7.4x (0.6 to 88.6)");
  for (Record& r : records) {
    if (r.method == "linear") r = record("linear", r.document, std::vector<double>(8, std::stod(r.document) / 2 + 3));
  }
  EXPECT_EQ(compare_ppl(records, "linear", 4, "yarn", 4, 2048).cell(), "7.4x (2.1 to 25.6) *");
}

TEST(Statistics, OneValueHasNoInterval) {
  const std::vector<Record> records = {record("yarn", "a", {2}), record("linear", "a", {2.5})};
  EXPECT_EQ(compare_ppl(records, "linear", 4, "yarn", 4, 256).cell(), "+64.9 %");
}

TEST(Statistics, DocumentsThatOnlyOneSideHasDoNotCount) {
  const std::vector<Record> records = {record("yarn", "a", std::vector<double>(8, 1)),
                                       record("linear", "b", std::vector<double>(8, 1))};
  EXPECT_EQ(compare_ppl(records, "yarn", 4, "linear", 4, 2048).documents, 0U);
  EXPECT_EQ(compare_ppl(records, "yarn", 4, "linear", 4, 2048).verdict(), "nothing to compare");
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "in_process/log_softmax.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace mrrope::eval {
namespace {

std::vector<float> random_row(std::size_t n, unsigned seed, float spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> row(n);
  for (float& x : row) x = normal(random);
  return row;
}

double slow_log_sum_exp(const std::vector<float>& row) {
  long double most = -INFINITY;
  for (const float x : row) most = std::max<long double>(most, x);
  long double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<long double>(x) - most);
  return static_cast<double>(most + std::log(sum));
}

// Every instruction set of this processor, one after the other.
template <class Check>
void on_every_target(Check check) {
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const std::int64_t one = targets & -targets;
    hwy::SetSupportedTargetsForTest(one);
    SCOPED_TRACE(hwy::TargetName(one));
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(LogSoftmax, AUniformRowCostsTheLogarithmOfItsSize) {
  on_every_target([] {
    for (const std::size_t n : {1U, 2U, 7U, 8U, 31U, 259U, 49152U}) {
      EXPECT_NEAR(token_nll(std::vector<float>(n, 3.5F), 0), std::log(static_cast<double>(n)), 1e-7) << n;
    }
  });
}

// float32 exp is within 2 ulp and 16 of them are added in float32: 18 * 2^-23 of relative error at most in the sum.
TEST(LogSoftmax, AgreesWithLongDoubleForEverySizeAndTail) {
  on_every_target([] {
    for (std::size_t n = 1; n < 200; ++n) {
      const std::vector<float> row = random_row(n, static_cast<unsigned>(n), 8);
      EXPECT_NEAR(log_sum_exp(row), slow_log_sum_exp(row), 18 * 0x1p-23) << n;
    }
    const std::vector<float> large = random_row(151'936, 1, 4);
    EXPECT_NEAR(log_sum_exp(large), slow_log_sum_exp(large), 18 * 0x1p-23);
  });
}

TEST(LogSoftmax, SurvivesLargeSmallAndRuledOutLogits) {
  const float inf = std::numeric_limits<float>::infinity();
  on_every_target([&] {
    std::vector<float> row(64, -inf);
    row[17] = 80'000;
    EXPECT_DOUBLE_EQ(token_nll(row, 17), 0);
    row[18] = 80'000;
    EXPECT_NEAR(token_nll(row, 18), std::log(2.0), 1e-7);
    EXPECT_EQ(token_nll(row, 3), inf);
  });
}

TEST(LogSoftmax, SaysWhenARowIsNotNumbers) {
  on_every_target([] {
    for (const std::size_t at : {0U, 5U, 63U}) {
      std::vector<float> row(64, 1);
      row[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(log_sum_exp(row))) << at;
      row[at] = std::numeric_limits<float>::infinity();
      EXPECT_TRUE(std::isnan(log_sum_exp(row))) << at;
    }
  });
}

TEST(KlDivergence, IsZeroForTheSameAndAgreesWithTheDefinition) {
  on_every_target([] {
    const std::vector<float> p = random_row(1003, 2, 3);
    const std::vector<float> q = random_row(1003, 3, 3);
    EXPECT_NEAR(kl_divergence(p, p), 0, 1e-6);
    const double lp = slow_log_sum_exp(p);
    const double lq = slow_log_sum_exp(q);
    double expected = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double a = static_cast<double>(p[i]) - lp;
      expected += std::exp(a) * (a - (static_cast<double>(q[i]) - lq));
    }
    EXPECT_NEAR(kl_divergence(p, q), expected, 1e-5 * expected);
  });
}

// Models rule tokens of their vocabulary out, and the divergence of their rows was no number.
TEST(KlDivergence, LeavesOutWhatBothRuleOut) {
  on_every_target([] {
    std::vector<float> p = random_row(100, 2, 3), q = random_row(100, 3, 3);
    const double expected = kl_divergence(p, q);
    for (std::vector<float>* row : {&p, &q}) {
      for (const std::ptrdiff_t at : {0, 17, 101})
        row->insert(row->begin() + at, -std::numeric_limits<float>::infinity());
    }
    EXPECT_NEAR(kl_divergence(p, q), expected, 1e-6 * expected);
    q.front() = 0;
    EXPECT_TRUE(std::isfinite(kl_divergence(p, q)));
    EXPECT_EQ(kl_divergence(q, p), std::numeric_limits<double>::infinity());
  });
}

}  // namespace
}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include "mrrope/analysis.h"

#include <gtest/gtest.h>

#include <complex>
#include <random>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

std::vector<double> theta(const std::string& method, double factor, const Spectrum& s = test::llama2_7b()) {
  return inv_freq(s, table(s, factor, test::method(method)).pair_factors);
}

// The slow way: one cosine per pair and distance, and numpy's `same` convolution written out.
BoundZeros slow_zeros(const std::vector<double>& t, const Band& band, std::int64_t limit, int window) {
  const auto sum = [&](double m, std::size_t from, std::size_t to) {
    double b = 0;
    for (std::size_t i = from; i < to; ++i) b += std::cos(m * t[i]);
    return b;
  };
  BoundZeros zeros;
  std::vector<double> values = {0};
  for (std::int64_t m = 1; m <= limit + window / 2; ++m) values.push_back(sum(static_cast<double>(m), 0, t.size()));
  for (std::int64_t m = 1; m <= limit; ++m) {
    if (!zeros.first_zero && values[static_cast<std::size_t>(m)] <= 0) zeros.first_zero = m;
    if (!zeros.band_first_zero &&
        sum(static_cast<double>(m), static_cast<std::size_t>(band.low), static_cast<std::size_t>(band.high)) <= 0) {
      zeros.band_first_zero = m;
    }
    double smoothed = 0;
    for (std::int64_t d = std::max<std::int64_t>(1, m - window / 2); d < m + window / 2; ++d) {
      smoothed += values[static_cast<std::size_t>(d)];
    }
    if (!zeros.smoothed_first_zero && smoothed <= 0) zeros.smoothed_first_zero = m;
  }
  return zeros;
}

TEST(Bound, FastScanEqualsTheSlowOne) {
  for (const char* name : {"none", "ntk", "yarn", "mrrope-pro+clip"}) {
    for (const int window : {2, 64, 512}) {
      const std::vector<double> t = theta(name, 2);
      EXPECT_EQ(bound_zeros(t, {20, 46}, 9000, window), slow_zeros(t, {20, 46}, 9000, window)) << name << " " << window;
    }
  }
}

TEST(Bound, LimitIsInclusiveAndReportedAsNoZero) {
  const std::vector<double> t = theta("none", 1);
  EXPECT_EQ(bound_zeros(t, {20, 46}, 1707).first_zero, 1707);
  EXPECT_EQ(bound_zeros(t, {20, 46}, 1706).first_zero, std::nullopt);
}

TEST(Bound, EmptyBandHasNoZero) {
  const BoundZeros zeros = bound_zeros(theta("none", 1), {30, 30}, 20000);
  EXPECT_EQ(zeros.band_first_zero, std::nullopt);
  EXPECT_EQ(zeros.first_zero, 1707);
}

TEST(Bound, CurveIsTheSumAtEveryDistance) {
  const std::vector<double> t = theta("mrrope-pro", 16);
  const std::vector<double> curve = bound_curve(t, 1300);
  ASSERT_EQ(curve.size(), 1300U);
  for (const std::size_t m : {1U, 2U, 511U, 512U, 513U, 1024U, 1300U}) {
    EXPECT_NEAR(curve[m - 1], bound(t, static_cast<double>(m)), 1e-11);
  }
  EXPECT_TRUE(bound_curve(t, 0).empty());
}

TEST(Bound, IsTheNumberOfPairsAtDistanceZero) { EXPECT_EQ(bound(theta("none", 1), 0), 64); }

// [T32] For independent normal q and k the scores at distances 0 and m correlate by B(m)/n. Monte Carlo with 20000
// draws: the standard error of a correlation near 0.5 is below 0.006.
TEST(ScoreCorrelation, IsTheCorrelationOfRandomScores) {
  const std::vector<double> t = theta("none", 1);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const double m : {3.0, 40.0, 500.0}) {
    double product = 0, square_0 = 0, square_m = 0;
    for (int draw = 0; draw < 20000; ++draw) {
      double at_0 = 0, at_m = 0;
      for (const double theta_i : t) {
        const std::complex<double> q(normal(random), normal(random));
        const std::complex<double> k(normal(random), normal(random));
        at_0 += (q * std::conj(k)).real();
        at_m += (q * std::conj(k) * std::polar(1.0, m * theta_i)).real();
      }
      product += at_0 * at_m;
      square_0 += at_0 * at_0;
      square_m += at_m * at_m;
    }
    EXPECT_NEAR(product / std::sqrt(square_0 * square_m), score_correlation(t, m), 0.03) << m;
  }
}

TEST(AttentionDecay, IsOneAtDistanceZeroAndDecays) {
  const std::vector<double> t = theta("none", 1);
  EXPECT_DOUBLE_EQ(attention_decay(t, 0), 1);
  EXPECT_LT(attention_decay(t, 50), 0.8);
  EXPECT_LT(attention_decay(t, 250), attention_decay(t, 5));
}

// |Re sum h_i e^{i m theta_i}| <= max |h_{i+1} - h_i| * sum_j |S_j| (summation by parts, RoFormer section 3.4.3).
TEST(AttentionDecay, BoundsEveryScore) {
  const std::vector<double> t = theta("none", 1);
  const auto n = static_cast<double>(t.size());
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<std::complex<double>> h;
    for (std::size_t i = 0; i < t.size(); ++i) h.emplace_back(normal(random), normal(random));
    double step = std::abs(h.back());  // h_n = 0
    for (std::size_t i = 1; i < h.size(); ++i) step = std::max(step, std::abs(h[i] - h[i - 1]));
    for (const double m : {1.0, 10.0, 1000.0}) {
      std::complex<double> score = 0;
      for (std::size_t i = 0; i < h.size(); ++i) score += h[i] * std::polar(1.0, m * t[i]);
      EXPECT_LE(std::fabs(score.real()), step * attention_decay(t, m) * n * (n + 1) / 2 * (1 + 1e-12));
    }
  }
}

TEST(PositionEstimate, IsExactWhereNoAngleHasWrapped) {
  const std::vector<double> t = theta("none", 1);
  EXPECT_NEAR(position_estimate(t, 5), 5 * 64, 1e-9);  // each of the 64 pairs reads 5
}

TEST(PositionEstimate, LeavesOutPairsThatStandStill) {
  EXPECT_NEAR(position_estimate(theta("none+clip:keep=10", 1), 5), 50, 1e-9);
}

TEST(Exposure, PlainRopeMeetsUnseenAnglesInEveryPairWithoutAFullTurn) {
  const Spectrum s = test::llama2_7b();
  const Exposure e = exposure(s, std::vector<double>(64, 1.0), 16);
  EXPECT_EQ(e.unseen_pairs, 18);  // pairs 46 … 63
  EXPECT_EQ(e.unseen_ratio, 16);
  EXPECT_EQ(e.short_drift_turns, 0);
}

TEST(Exposure, MethodsThatGiveSlowPairsTheWholeFactorLeaveNothingUnseen) {
  for (const char* name : {"linear", "yarn", "yarn-rotations", "llama3", "mrrope-uni", "mrrope-pro", "mrrope-mirror"}) {
    const Spectrum s = test::llama2_7b();
    const Exposure e = exposure(s, table(s, 16, test::method(name)).pair_factors, 16);
    EXPECT_EQ(e.unseen_pairs, 0) << name;
    EXPECT_EQ(e.unseen_ratio, 1) << name;
  }
}

// Linear slows the fastest pair down by S: over L tokens it loses r_0 (1 - 1/S) of its r_0 turns.
TEST(Exposure, DriftOfLinearIsThatOfItsFastestPair) {
  const Spectrum s = test::llama2_7b();
  const Exposure e = exposure(s, std::vector<double>(64, 16.0), 16);
  EXPECT_EQ(e.short_drift_pair, 0);
  EXPECT_DOUBLE_EQ(e.short_drift_turns, turns(s, 0) * 15 / 16);
}

}  // namespace
}  // namespace mrrope

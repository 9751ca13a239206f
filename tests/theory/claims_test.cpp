// SPDX-License-Identifier: MIT
//
// Section 7 of docs/theory.md: where the paper, its authors' code and deployed engines differ. One test per claim.
#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

using Kind = Conversion::Kind;

std::vector<double> factors(const std::string& method, double factor) {
  return table(test::llama2_7b(), factor, test::method(method)).pair_factors;
}

// The paper calls YaRN regressive. Its formula is; what engines and the authors' baseline run is not.
TEST(TwoYarns, DeployedIsProgressiveAndPublishedRegressiveAtSixteen) {
  EXPECT_EQ(classify(factors("yarn", 16)).kind, Kind::progressive);
  EXPECT_EQ(classify(factors("yarn-rotations", 16)).kind, Kind::regressive);
}

TEST(TwoYarns, MidBandOrderAtSixteen) {
  const std::size_t middle = 33;  // (20 + 46) / 2
  const double published = factors("yarn-rotations", 16)[middle];
  const double uniform = factors("mrrope-uni", 16)[middle];
  const double progressive = factors("mrrope-pro", 16)[middle];
  const double deployed = factors("yarn", 16)[middle];
  EXPECT_NEAR(published, 4.93, 0.005);
  EXPECT_NEAR(uniform, 4.00, 0.005);
  EXPECT_NEAR(progressive, 2.05, 0.005);
  EXPECT_NEAR(deployed, 1.88, 0.005);
  EXPECT_TRUE(published > uniform && uniform > progressive && progressive > deployed);
}

// The appendix proves "regressive" with c = beta - S alpha > 0. At S = beta/alpha the conversion is exactly uniform,
// beyond it progressive. [T29]
TEST(TurnAround, RampOverTurnsTurnsAtBetaOverAlpha) {
  EXPECT_EQ(classify(factors("yarn-rotations", 16)).kind, Kind::regressive);
  EXPECT_EQ(classify(factors("yarn-rotations", 32)).kind, Kind::uniform);
  EXPECT_EQ(classify(factors("yarn-rotations", 64)).kind, Kind::progressive);
  EXPECT_EQ(classify(factors("llama3", 2)).kind, Kind::regressive);
  EXPECT_EQ(classify(factors("llama3", 4)).kind, Kind::uniform);
  EXPECT_EQ(classify(factors("llama3", 8)).kind, Kind::progressive);
  // and for any other ends of the ramp
  EXPECT_EQ(classify(factors("ntk-by-parts:beta_fast=20:beta_slow=2", 9)).kind, Kind::regressive);
  EXPECT_EQ(classify(factors("ntk-by-parts:beta_fast=20:beta_slow=2", 10)).kind, Kind::uniform);
  EXPECT_EQ(classify(factors("ntk-by-parts:beta_fast=20:beta_slow=2", 11)).kind, Kind::progressive);
}

// Eq. 7 prints the weight once as beta^(j-1) and once as b^((1-j)/D_r). How well is the estimate explained by a line?
TEST(PositionEstimate, OnlyGrowingWeightsAreLinear) {
  const Spectrum s = plain_spectrum(128, 1000000, 32768);
  const auto fit = [&](bool growing) {  // r^2 of a least-squares line over positions 0 … 32768
    double n = 0, sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    for (double m = 0; m <= 32768; m += 16) {
      double y = 0;
      for (const double theta : s.inv_freq)
        y += std::fmod(m * theta, 2 * std::acos(-1.0)) * (growing ? 1 / theta : theta);
      if (growing) {
        EXPECT_NEAR(y, position_estimate(s.inv_freq, m), 1e-6 * (1 + y));
      }
      n += 1, sx += m, sy += y, sxx += m * m, syy += y * y, sxy += m * y;
    }
    const double covariance = n * sxy - sx * sy;
    return covariance * covariance / ((n * sxx - sx * sx) * (n * syy - sy * sy));
  };
  EXPECT_GT(fit(true), 0.99);
  EXPECT_LT(fit(false), 0.2);
}

// d_l = max{i : L theta_i > beta 2 pi}, d_h = min{i : L theta_i < alpha 2 pi} on 1-based i.
TEST(BandEdges, PaperDefinitionSelectsTheSamePairsWithinOne) {
  for (const Spectrum& s : {test::llama2_7b(), test::llama3_8b(), test::qwen25_3b(), test::smollm2_135m()}) {
    int low = 0, high = 0;
    for (int i = s.pairs(); i >= 1; --i) {
      if (turns(s, i - 1) > 32) {
        low = i;
        break;
      }
    }
    for (int i = 1; i <= s.pairs(); ++i) {
      if (turns(s, i - 1) < 1) {
        high = i;
        break;
      }
    }
    const Band b = band(s);
    EXPECT_LE(std::fabs(b.low - low), 1);
    EXPECT_LE(std::fabs(b.high - high), 1);
  }
}

// Phi-3-like: 131072 tokens at base 10000. The band ends beyond the last of the 48 pairs, and nobody cuts it there.
TEST(BandEdges, UpperClampIsTwoNMinusOne) {
  const Spectrum s = plain_spectrum(96, 10000, 131072);
  EXPECT_EQ(band(s), (Band{33, 52}));
  EXPECT_LT(table(s, 4, Yarn{}).pair_factors.back(), 4);
  const Spectrum longer = plain_spectrum(4, 100, 20000);  // c(1) = 3.5
  EXPECT_EQ(band(longer).high, 3);                        // 2n - 1
}

// Where every pair makes fewer than beta_slow turns, the upper edge falls below the lower. Hugging Face then divides by
// a negative width and scales nothing; a step keeps the meaning "slow pairs are slowed down".
TEST(BandEdges, InvertedBandIsAStep) {
  const Spectrum s = plain_spectrum(8, 10000, 64);
  const Table t = table(s, 4, Yarn{.band = {.beta_slow = 20, .truncate = false}});
  EXPECT_EQ(t.pair_factors, (std::vector<double>{1, 4, 4, 4}));
}

struct BoundRow {
  const char* method;
  std::int64_t first, band, smoothed;
};

// Llama 2 (n = 64, b = 1e4, L = 4096), S = 16: an exact scan by another program (numpy, float64).
constexpr BoundRow kBoundTable[] = {
    {"none", 1707, 396, 5204},          {"linear", 27297, 6331, 36533},         {"ntk", 7920, 2063, 34475},
    {"yarn", 11671, 1257, 41382},       {"yarn-rotations", 15037, 3052, 34420}, {"mrrope-uni", 10263, 2833, 46019},
    {"mrrope-pro", 14239, 1723, 48166},
};

BoundZeros zeros_of(const std::string& method) {
  const Spectrum s = test::llama2_7b();
  return bound_zeros(inv_freq(s, factors(method, 16)), band(s));
}

TEST(BoundTable, MatchesTheReferenceColumns) {
  for (const BoundRow& row : kBoundTable) {
    EXPECT_EQ(zeros_of(row.method), (BoundZeros{row.first, row.band, row.smoothed})) << row.method;
  }
}

// The paper's figure quotes 1K, 6K and 28K for plain RoPE, YaRN and Pro.
TEST(BoundTable, FirstZeroIsNotThePapersFigure) {
  EXPECT_GT(*zeros_of("none").first_zero, 1500);
  EXPECT_GT(*zeros_of("yarn").first_zero, 11000);
  EXPECT_GT(*zeros_of("yarn-rotations").first_zero, 15000);
  EXPECT_LT(*zeros_of("mrrope-pro").first_zero, 15000);
}

// The numbers are those of a scan that computes tables and sums on its own.
TEST(BoundTable, TheWindowDecidesWhichMethodReachesFurthest) {
  const auto zeros = [](const Spectrum& s, double factor, const char* method, int window) {
    const std::vector<double> theta = inv_freq(s, table(s, factor, test::method(method)).pair_factors);
    return *bound_zeros(theta, band(s), 1 << 20, window).smoothed_first_zero;
  };
  struct Row {
    int window;
    std::int64_t none, yarn, yarn_rotations, uni, pro;
  };
  for (const auto& [window, none, yarn, yarn_rotations, uni, pro] : {Row{64, 2639, 32864, 26157, 35807, 31665},
                                                                     {256, 4581, 41362, 26203, 44279, 47061},
                                                                     {1024, 5714, 57828, 44513, 56847, 48416}}) {
    const Spectrum s = test::llama2_7b();
    EXPECT_EQ(zeros(s, 16, "none", window), none);
    EXPECT_EQ(zeros(s, 16, "yarn", window), yarn);
    EXPECT_EQ(zeros(s, 16, "yarn-rotations", window), yarn_rotations);
    EXPECT_EQ(zeros(s, 16, "mrrope-uni", window), uni);
    EXPECT_EQ(zeros(s, 16, "mrrope-pro", window), pro);
  }
  EXPECT_EQ(zeros(test::qwen25_3b(), 4, "mrrope-pro", 512), 447908);
  EXPECT_EQ(zeros(test::qwen25_3b(), 4, "mrrope-uni", 512), 486740);
}

TEST(Linear, IsNotAConversion) {
  EXPECT_EQ(classify(factors("linear", 16)).kind, Kind::not_a_conversion);
  EXPECT_STREQ(to_string(Kind::not_a_conversion), "not a conversion");
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/spectrum.h"

#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

TEST(Spectrum, FastestPairTurnsOneRadianPerTokenAndOthersFallGeometrically) {
  const Spectrum s = test::llama2_7b();
  ASSERT_EQ(s.pairs(), 64);
  EXPECT_EQ(s.inv_freq[0], 1);
  EXPECT_DOUBLE_EQ(s.inv_freq[32], 0.01);
  for (int i = 1; i < 64; ++i)
    EXPECT_LT(s.inv_freq[static_cast<std::size_t>(i)], s.inv_freq[static_cast<std::size_t>(i - 1)]);
}

TEST(Spectrum, TurnsAndWavelengthAgree) {
  const Spectrum s = test::llama3_8b();
  for (int i = 0; i < s.pairs(); ++i) EXPECT_NEAR(turns(s, i) * wavelength(s, i), 8192, 1e-9);
}

TEST(Spectrum, PairThatStandsStillHasNoTurnsAndInfiniteWavelength) {
  const std::vector<double> factors = {1, 2, kNoRotation, kNoRotation};
  const Spectrum s = scaled_spectrum(plain_spectrum(8, 10000, 4096), factors);
  EXPECT_EQ(s.inv_freq[2], 0);
  EXPECT_EQ(turns(s, 3), 0);
  EXPECT_TRUE(std::isinf(wavelength(s, 3)));
}

// theory: Llama-2-7B (20,46), Llama-3-8B (18,35), Qwen2.5-3B (23,40), SmolLM2-135M (10,20).
TEST(Band, MatchesThePublishedModels) {
  EXPECT_EQ(band(test::llama2_7b()), (Band{20, 46}));
  EXPECT_EQ(band(test::llama3_8b()), (Band{18, 35}));
  EXPECT_EQ(band(test::qwen25_3b()), (Band{23, 40}));
  EXPECT_EQ(band(test::smollm2_135m()), (Band{10, 20}));
}

TEST(Band, EdgesByHandWinOverTurns) {
  EXPECT_EQ(band(test::llama2_7b(), {.low = 12}), (Band{12, 46}));
  EXPECT_EQ(band(test::llama2_7b(), {.low = 12, .high = 50}), (Band{12, 50}));
}

TEST(Band, WithoutTruncationLiesInsideTheTruncatedOne) {
  const Band real = band(test::llama2_7b(), {.truncate = false});
  EXPECT_GT(real.low, 20);
  EXPECT_LT(real.low, 21);
  EXPECT_GT(real.high, 45);
  EXPECT_LT(real.high, 46);
  EXPECT_NEAR(turns(plain_spectrum(128, 10000, 4096), 0) * std::pow(10000, -real.low / 64), 32, 1e-9);
}

TEST(Band, PairAtTurnsInvertsTurns) {
  const Spectrum s = test::qwen25_3b();
  for (int i = 0; i < s.pairs(); ++i) EXPECT_NEAR(pair_at_turns(s, turns(s, i)), i, 1e-11);
}

TEST(Band, ScaledSpectrumWithUnitFactorsHasThePlainBand) {
  Spectrum s = scaled_spectrum(test::llama2_7b(), std::vector<double>(64, 1.0));
  ASSERT_FALSE(s.plain);
  for (const double t : {1000.0, 32.0, 4.0, 1.0, 0.01, 1e-5}) {
    EXPECT_NEAR(pair_at_turns(s, t), pair_at_turns(test::llama2_7b(), t), 1e-10) << t;
  }
}

// A model trained with linear scaling makes S times fewer turns: its band moves towards the fast pairs by ln S / ln b.
TEST(Band, OfLinearlyTrainedModelMovesByTheLogarithmOfTheFactor) {
  const Spectrum plain = test::llama2_7b();
  const Spectrum scaled = scaled_spectrum(plain, std::vector<double>(64, 8.0));
  EXPECT_NEAR(pair_at_turns(scaled, 4), pair_at_turns(plain, 4) - 64 * std::log(8) / std::log(10000), 1e-10);
}

TEST(Band, IgnoresPairsThatDoNotRotate) {
  std::vector<double> factors(64, 1.0);
  std::fill(factors.begin() + 30, factors.end(), kNoRotation);
  const Spectrum s = scaled_spectrum(test::llama2_7b(), factors);
  // Pair 29 still makes more than one turn, so the edge continues with the plain slope.
  EXPECT_NEAR(pair_at_turns(s, 1), pair_at_turns(test::llama2_7b(), 1), 1e-9);
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/radix.h"

#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

using Kind = Conversion::Kind;

std::vector<double> factors(const std::string& method, double factor, const Spectrum& s = test::llama2_7b()) {
  return table(s, factor, test::method(method)).pair_factors;
}

Kind kind(const std::string& method, double factor) { return classify(factors(method, factor)).kind; }

TEST(Radix, FactorsAndLambdasRoundTrip) {
  for (const char* name : {"none", "ntk", "yarn", "yarn-rotations", "mrrope-uni", "mrrope-pro", "mrrope-mirror"}) {
    const std::vector<double> s = factors(name, 16);
    const std::vector<double> lambda = radix_factors(s);
    ASSERT_EQ(lambda.size(), s.size() - 1);
    const std::vector<double> back = pair_factors_from_radix(lambda);
    for (std::size_t i = 0; i < s.size(); ++i) {
      // one rounding in each quotient and in each product
      EXPECT_LE(test::ulps(back[i], s[i]), 2.0 * static_cast<double>(i) + 1) << name << " pair " << i;
    }
  }
}

TEST(Radix, ExtensionMultipliesTheRangeByTheLastFactor) {
  EXPECT_NEAR(range(10000, factors("mrrope-pro", 16)), 160000, 1e-6);
  EXPECT_NEAR(range(10000, factors("none", 16)), 10000, 1e-9);
  EXPECT_EQ(range(10000, std::vector<double>(4, kNoRotation)), 1);
}

// With an integer base per digit the real-valued digits are the ordinary ones: b = 10^4, n = 4, beta = 10.
TEST(RadixDigits, OfAPlainDecimalSystemAreDecimalDigits) {
  const std::vector<double> plain(4, 1.0);
  EXPECT_EQ(digits(10000, plain, 4096), (std::vector<double>{6, 9, 0, 4}));
  EXPECT_EQ(digits(10000, plain, 7), (std::vector<double>{7, 0, 0, 0}));
}

// lambda = 2 for digit 1: radices 10, 20, 10, 10. 4096 = 6 + 10*9 + 200*0 + 2000*2.
TEST(RadixDigits, OfAMixedSystemFollowItsRadices) {
  const std::vector<double> s = pair_factors_from_radix(std::vector<double>{1, 2, 1});
  EXPECT_EQ(digits(10000, s, 4096), (std::vector<double>{6, 9, 0, 2}));
}

TEST(RadixDigits, OfPairsThatStandStillAreZero) {
  EXPECT_EQ(digits(10000, std::vector<double>{1, 1, 1, kNoRotation}, 4096), (std::vector<double>{6, 9, 0, 0}));
}

TEST(RadixKind, OfEveryMethodAtSixteen) {
  EXPECT_EQ(kind("none", 16), Kind::none);
  EXPECT_EQ(kind("linear", 16), Kind::not_a_conversion);
  EXPECT_EQ(kind("ntk", 16), Kind::uniform);
  EXPECT_EQ(kind("abf:base=500000", 16), Kind::uniform);
  EXPECT_EQ(kind("gradient-base", 16), Kind::uniform);
  EXPECT_EQ(kind("dynamic-ntk", 16), Kind::uniform);
  EXPECT_EQ(kind("yarn", 16), Kind::progressive);
  EXPECT_EQ(kind("yarn-rotations", 16), Kind::regressive);
  EXPECT_EQ(kind("ntk-by-parts", 16), Kind::regressive);
  EXPECT_EQ(kind("mrrope-uni", 16), Kind::uniform);
  EXPECT_EQ(kind("mrrope-pro", 16), Kind::progressive);
  EXPECT_EQ(kind("mrrope-mirror", 16), Kind::regressive);
  EXPECT_EQ(kind("mrrope-power:p=-1", 16), Kind::regressive);
  EXPECT_EQ(kind("mrrope-power:p=0", 16), Kind::uniform);
  EXPECT_EQ(kind("mrrope-power:p=3", 16), Kind::progressive);
}

TEST(RadixKind, FactorOneIsNoConversion) {
  for (const char* name : {"linear", "ntk", "yarn", "yarn-rotations", "llama3", "mrrope-pro"}) {
    EXPECT_EQ(kind(name, 1), Kind::none) << name;
  }
}

// GGUF files and config.json hold float32 factors. A uniform table must not become "mixed" by being stored.
TEST(RadixKind, SurvivesStorageAsFloat32) {
  for (const char* name : {"ntk", "yarn", "yarn-rotations", "mrrope-uni", "mrrope-pro", "mrrope-mirror", "llama3"}) {
    for (const double factor : {1.25, 2.0, 4.0, 16.0, 32.0, 64.0}) {
      const std::vector<double> exact = factors(name, factor);
      std::vector<double> stored;
      for (const double s : exact) stored.push_back(static_cast<double>(static_cast<float>(s)));
      EXPECT_EQ(classify(stored).kind, classify(exact).kind) << name << " " << factor;
    }
  }
}

TEST(RadixKind, EdgesAreReportedApartOnlyWhereTheyDiffer) {
  const Conversion pro = classify(factors("mrrope-pro", 16));
  EXPECT_EQ(pro.first, 20);
  EXPECT_EQ(pro.last, 45);
  EXPECT_EQ(pro.lambda_first, pro.edge_first);
  EXPECT_EQ(pro.lambda_last, pro.edge_last);
  EXPECT_EQ(describe(pro), "progressive, lambda 1.008 -> 1.228 over pairs 20..45");

  const Conversion ramp = classify(factors("yarn-rotations", 16));
  EXPECT_LT(ramp.edge_first, ramp.lambda_first);  // a partial first step before the regressive run
  EXPECT_GT(ramp.lambda_first, ramp.lambda_last);
}

TEST(RadixKind, StillPairsAreNotDigits) {
  const Conversion c = classify(factors("mrrope-pro+clip", 16));
  EXPECT_EQ(c.kind, Kind::progressive);
  EXPECT_EQ(c.still, 18);
  EXPECT_EQ(classify(std::vector<double>(3, kNoRotation)).kind, Kind::mixed);
}

TEST(RadixKind, RisingAndFallingIsMixed) {
  EXPECT_EQ(classify(pair_factors_from_radix(std::vector<double>{1.1, 2, 1.2, 3, 1.5, 2})).kind, Kind::mixed);
}

TEST(RadixKind, OfASinglePairIsNone) { EXPECT_EQ(classify(std::vector<double>{1.0}).kind, Kind::none); }

}  // namespace
}  // namespace mrrope

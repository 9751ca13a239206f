// SPDX-License-Identifier: MIT
//
// Laws that hold for every method, and the limits in which one method becomes another.
#include "mrrope/methods.h"

#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

const std::vector<Spectrum>& spectra() {
  static const std::vector<Spectrum> all = {test::llama2_7b(),
                                            test::llama3_8b(),
                                            test::qwen25_3b(),
                                            test::smollm2_135m(),
                                            plain_spectrum(2, 10000, 4096),
                                            plain_spectrum(4, 10000, 64),
                                            plain_spectrum(96, 10000, 131072),
                                            plain_spectrum(256, 1e6, 8192)};
  return all;
}

const std::vector<double>& factors() {
  static const std::vector<double> all = {1, 1.25, 2, 3.662109375, 4, 10, 16, 32, 64, 1000};
  return all;
}

// Methods without parameters whose table follows from S alone.
std::vector<Method> plain_methods() {
  std::vector<Method> all;
  for (const MethodInfo& info : method_catalogue()) {
    if (!info.is_modifier && !info.needs_parameters) all.push_back(test::method(std::string(info.name)));
  }
  return all;
}

TEST(Methods, CatalogueHasTwenty) { EXPECT_EQ(method_catalogue().size(), 20U); }

TEST(Methods, FactorOneIsTheIdentity) {
  for (const Spectrum& s : spectra()) {
    for (const Method& m : plain_methods()) {
      const Table t = table(s, 1, m);
      EXPECT_EQ(t.pair_factors, std::vector<double>(s.inv_freq.size(), 1.0)) << spell(m);
      EXPECT_EQ(t.attention_scale, 1) << spell(m);
    }
  }
}

TEST(Methods, FactorsNeverDecreaseTowardsSlowPairs) {
  for (const Spectrum& s : spectra()) {
    for (const double factor : factors()) {
      for (const Method& m : plain_methods()) {
        const Table t = table(s, factor, m);
        EXPECT_TRUE(std::is_sorted(t.pair_factors.begin(), t.pair_factors.end())) << spell(m) << " " << factor;
        EXPECT_GE(t.pair_factors.front(), 1) << spell(m);
      }
    }
  }
}

TEST(Methods, BandedOnesLieBetweenOneAndTheFactor) {
  for (const Spectrum& s : spectra()) {
    for (const double factor : factors()) {
      for (const char* name : {"yarn", "yarn-rotations", "llama3", "mrrope-uni", "mrrope-pro", "mrrope-power",
                               "mrrope-mirror", "mrrope-power:p=-2"}) {
        for (const double f : table(s, factor, test::method(name)).pair_factors) {
          EXPECT_GE(f, 1) << name;
          EXPECT_LE(f, factor) << name;
        }
      }
    }
  }
}

TEST(Methods, LeaveFastPairsAloneAndGiveSlowPairsTheWholeFactor) {
  const Table t = table(test::llama2_7b(), 16, MrRopePro{});
  for (std::size_t i = 0; i <= 20; ++i) EXPECT_EQ(t.pair_factors[i], 1);
  for (std::size_t i = 46; i < 64; ++i) EXPECT_EQ(t.pair_factors[i], 16);
}

// Explicit edges far beyond the last pair are allowed: k(k+1) must not overflow on the way.
TEST(Methods, WidestBandByHandIsFinite) {
  for (const char* name : {"mrrope-uni", "mrrope-pro", "mrrope-mirror", "mrrope-power"}) {
    const Table t = table(test::llama2_7b(), 16, test::method(std::string(name) + ":low=0:high=65536"));
    EXPECT_TRUE(std::is_sorted(t.pair_factors.begin(), t.pair_factors.end())) << name;
    EXPECT_LT(t.pair_factors.back(), 1.1) << name;
  }
}

TEST(Methods, PowerLawContainsUniAndPro) {
  for (const Spectrum& s : spectra()) {
    for (const double factor : factors()) {
      EXPECT_EQ(table(s, factor, MrRopePower{.p = 0}), table(s, factor, MrRopeUni{}));
      EXPECT_EQ(table(s, factor, MrRopePower{.p = 1}), table(s, factor, MrRopePro{}));
    }
  }
}

// The mirror's radix factors are mrrope-pro's in reverse order, by definition of the name.
TEST(Methods, MirrorIsProReadBackwards) {
  const auto pro = radix_factors(table(test::llama2_7b(), 16, MrRopePro{}).pair_factors);
  const auto mirror = radix_factors(table(test::llama2_7b(), 16, MrRopeMirror{}).pair_factors);
  for (std::size_t k = 0; k < 26; ++k) EXPECT_NEAR(mirror[20 + k], pro[45 - k], 1e-14);
}

TEST(Methods, ByPartsIsYarnRotationsWithoutItsScale) {
  const Table with = table(test::llama3_8b(), 8, YarnRotations{});
  const Table without = table(test::llama3_8b(), 8, NtkByParts{});
  EXPECT_EQ(with.pair_factors, without.pair_factors);
  EXPECT_EQ(without.attention_scale, 1);
  EXPECT_DOUBLE_EQ(with.attention_scale, 0.1 * std::log(8) + 1);
}

// Both are the ramp over turns; llama3 only has other ends.
TEST(Methods, Llama3IsByPartsWithOtherEnds) {
  EXPECT_EQ(table(test::llama3_8b(), 8, Llama3{}).pair_factors,
            table(test::llama3_8b(), 8, NtkByParts{.beta_fast = 4, .beta_slow = 1}).pair_factors);
}

TEST(Methods, NtkIsAbfWithItsOwnBase) {
  const Spectrum s = test::llama2_7b();
  const double base = 10000 * std::pow(16.0, 64.0 / 63.0);
  const Table ntk = table(s, 16, Ntk{});
  const Table abf = table(s, 16, Abf{base});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(abf.pair_factors[i], ntk.pair_factors[i], 1e-12);
}

// koboldcpp's formula as its code has it: base' = base^(log(L'/2pi)/log(L/2pi)).
TEST(Methods, GradientBaseIsAbfWithKoboldsBase) {
  const double two_pi = 2 * std::acos(-1.0);
  const double base = std::pow(500000.0, std::log(32768 / two_pi) / std::log(8192 / two_pi));
  const Table gradient = table(test::llama3_8b(), 4, GradientBase{});
  const Table abf = table(test::llama3_8b(), 4, Abf{base});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(gradient.pair_factors[i] / abf.pair_factors[i], 1, 1e-13);
}

TEST(Methods, YarnWithAStepForARampIsLinearBeyondIt) {
  const Table t = table(test::llama2_7b(), 4, Yarn{.band = {.low = 10, .high = 10}});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(t.pair_factors[i], i <= 10 ? 1 : 4) << i;
}

TEST(Methods, LongRopeWithOnesIsNone) {
  const std::vector<double> ones(64, 1.0);
  EXPECT_EQ(table(test::llama2_7b(), 4, LongRope{ones, ones}).pair_factors, ones);
}

TEST(DynamicMethods, KeepTheTrainedTableUpToTheTrainedLength) {
  for (const double length : {1.0, 100.0, 4096.0}) {
    EXPECT_EQ(table(test::llama2_7b(), 16, DynamicNtk{}, length).pair_factors, std::vector<double>(64, 1.0));
    EXPECT_EQ(table(test::llama2_7b(), 16, DynamicYarn{}, length), table(test::llama2_7b(), 1, Yarn{}));
  }
}

TEST(DynamicMethods, FollowTheLength) {
  EXPECT_EQ(table(test::llama2_7b(), 4, DynamicNtk{}, 8192), table(test::llama2_7b(), 5, Ntk{}));  // 4*2 - 3
  EXPECT_EQ(table(test::llama2_7b(), 4, DynamicYarn{}, 8192), table(test::llama2_7b(), 2, Yarn{}));
}

TEST(DynamicMethods, LongRopeSwitchesBeyondTheTrainedLength) {
  const LongRope law{std::vector<double>(64, 1.0), std::vector<double>(64, 3.0)};
  EXPECT_EQ(table(test::llama2_7b(), 4, law, 4096).pair_factors[5], 1);
  EXPECT_EQ(table(test::llama2_7b(), 4, law, 4097).pair_factors[5], 3);
  EXPECT_EQ(table(test::llama2_7b(), 4, law).pair_factors[5], 3);
}

TEST(AttentionScale, IsYarnsByDefaultAndDeepSeeksRatioOnRequest) {
  const auto scale = [](const Method& m) { return table(test::llama2_7b(), 40, m).attention_scale; };
  EXPECT_DOUBLE_EQ(scale(Yarn{}), 0.1 * std::log(40) + 1);
  EXPECT_EQ(scale(Yarn{.attention = {1, 1}}), 1);
  EXPECT_DOUBLE_EQ(scale(Yarn{.attention = {0.707, 0}}), 0.0707 * std::log(40) + 1);
  EXPECT_EQ(scale(Method(Yarn{}, {}, 1.5)), 1.5);
}

TEST(Modifiers, ComposeWithEveryTable) {
  for (const Spectrum& s : spectra()) {
    for (const Method& base : plain_methods()) {
      for (const Modifier& modifier : {Modifier{Cope{}}, Modifier{Clip{}}, Modifier{Resonance{}}}) {
        Method m = base;
        m.modifiers.push_back(modifier);
        for (const double f : table(s, 4, m).pair_factors) {
          EXPECT_TRUE(f > 0 && f <= kNoRotation) << spell(m);
        }
      }
    }
  }
}

TEST(Modifiers, ClipStopsExactlyThePairsWithoutAFullTurn) {
  const Spectrum s = test::llama2_7b();
  const Table t = table(s, 1, Method{None{}, {Clip{}}});
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(t.pair_factors[static_cast<std::size_t>(i)] == kNoRotation, wavelength(s, i) > 4096) << i;
  }
  const std::vector<double> theta = inv_freq(s, t.pair_factors);
  EXPECT_EQ(theta.back(), 0);
  EXPECT_EQ(theta.front(), 1);
}

TEST(Modifiers, CopeFadesFromOneToStandingStill) {
  const Table t = table(test::llama2_7b(), 1, Method{None{}, {Cope{20}}});
  EXPECT_EQ(t.pair_factors[43], 1);
  EXPECT_DOUBLE_EQ(t.pair_factors[44], 1);  // k = 0
  EXPECT_TRUE(std::is_sorted(t.pair_factors.begin(), t.pair_factors.end()));
  EXPECT_EQ(t.pair_factors[63], kNoRotation);
}

TEST(Modifiers, ResonanceGivesWholeWavelengths) {
  const Spectrum s = test::llama2_7b();
  const Table t = table(s, 16, Method{MrRopePro{}, {Resonance{}}});
  for (std::size_t i = 0; i < 64; ++i) {
    const double tokens = wavelength(s, static_cast<int>(i)) * t.pair_factors[i];
    EXPECT_NEAR(tokens, std::round(tokens), 1e-9 * tokens) << i;
  }
}

TEST(Modifiers, ApplyInOrder) {
  const Spectrum s = test::llama2_7b();
  const Table clipped_last = table(s, 4, test::method("linear+resonance+clip:keep=10"));
  EXPECT_EQ(clipped_last.pair_factors[10], kNoRotation);
  EXPECT_EQ(clipped_last, table(s, 4, test::method("linear+clip:keep=10+resonance")));  // still pairs are left alone
}

}  // namespace
}  // namespace mrrope

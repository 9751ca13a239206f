// SPDX-License-Identifier: MIT
//
// Every method against an independent 60-digit implementation (tools/make_vectors.py, tests/vectors/methods.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

// The factor is a double: for a target that is no multiple of the trained length S itself is rounded, which moves
// S^E by at most E <= 1 half ulp and dynamic-ntk's (S-1) len/L by less than two. It is inside the 4 ulp.
constexpr double kUlps = 4;

TEST(Precision, EveryMethodIsWithinFourUlpsOfTheExactTable) {
  if (std::numeric_limits<long double>::digits <= std::numeric_limits<double>::digits) {
    GTEST_SKIP() << "long double is no wider than double here; the bound is stated for platforms where it is";
  }
  const auto file = test::vectors("methods.json");
  double worst = 0;
  for (const auto& c : file["cases"]) {
    SCOPED_TRACE(c["method"].get<std::string>() + " dim " + c["rotary_dim"].dump() + " base " + c["base"].dump() + " " +
                 c["context_trained"].dump() + " -> " + c["context_target"].dump());
    const Spectrum spectrum = plain_spectrum(c["rotary_dim"], c["base"], c["context_trained"]);
    const double factor = std::max(1.0, c["context_target"].get<double>() / c["context_trained"].get<double>());
    const auto length = c.contains("length") ? std::optional<double>(c["length"].get<double>()) : std::nullopt;
    const Table t = table(spectrum, factor, test::method(c["method"]), length);
    const std::vector<double> theta = inv_freq(spectrum, t.pair_factors);
    ASSERT_EQ(t.pair_factors.size(), c["pair_factors"].size());
    const auto check = [&](double value, const std::string& reference) {
      const double distance = test::ulps(value, std::strtold(reference.c_str(), nullptr));
      worst = std::max(worst, distance);
      EXPECT_LE(distance, kUlps) << value << " for " << reference;
    };
    for (std::size_t i = 0; i < theta.size(); ++i) {
      check(t.pair_factors[i], c["pair_factors"][i]);
      check(theta[i], c["inv_freq"][i]);
    }
    check(t.attention_scale, c["attention_scale"]);
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  std::printf("%zu tables, worst %.2f ulp\n", file["cases"].size(), worst);
  EXPECT_GE(file["cases"].size(), 150U);
}

}  // namespace
}  // namespace mrrope

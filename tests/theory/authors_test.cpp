// SPDX-License-Identifier: MIT
//
// The tables of the paper's authors, computed by running their own code in float32 (tests/vectors/authors.json).
#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

TEST(AuthorsTables, AllFortyEightAreReproduced) {
  const auto file = test::vectors("authors.json");
  int tables = 0;
  for (const auto& v : file["vectors"]) {
    SCOPED_TRACE(v["model"].get<std::string>() + " " + v["method"].get<std::string>() + " " + v["factor"].dump());
    const Spectrum spectrum = plain_spectrum(v["rotary_dim"], v["base"], v["context_trained"]);
    const Method method = test::method(v["method"]);
    const Table t = table(spectrum, v["factor"], method);
    const Band b = band_of(spectrum, method);
    EXPECT_EQ(b.low, v["band_low"]);
    EXPECT_EQ(b.high, v["band_high"]);
    EXPECT_NEAR(t.attention_scale, v["attention_scale"].get<double>(), 1e-12);
    const std::vector<double> theta = inv_freq(spectrum, t.pair_factors);
    ASSERT_EQ(theta.size(), v["inv_freq_f32"].size());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      // A float32 pow and a float32 division: 2 ulp of 2^-23 relative, and the authors' float32 exponent on top.
      const double expected = v["inv_freq_f32"][i];
      EXPECT_NEAR(theta[i], expected, 5e-7 * expected) << "pair " << i;
    }
    ++tables;
  }
  EXPECT_EQ(tables, 48);
}

}  // namespace
}  // namespace mrrope

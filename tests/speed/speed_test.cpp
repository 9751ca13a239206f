// SPDX-License-Identifier: MIT
//
// Budgets that searches and people rely on. Built only without sanitizers; a budget is several times what is measured,
// so that a busy machine does not fail it and a change of complexity does.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

template <class Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Speed, HundredThousandPlansTakeLessThanASecond) {
  const RopeSpec spec = test::llama2_spec();
  double sum = 0;
  const double time = seconds([&] {
    for (int i = 0; i < 100000; ++i) {
      sum += make_plan(spec, 8192 + i, MrRopePro{})->groups[0].inv_freq[40];
    }
  });
  std::printf("100000 plans: %.3f s (checksum %g)\n", time, sum);
  EXPECT_LT(time, 1.0);
}

TEST(Speed, BoundsOfAllMethodsUpToTwoToTheTwentyTakeLessThanTwoSeconds) {
  // A base so large that B has no zero: nothing ends early.
  const Spectrum s = plain_spectrum(128, 1e9, 262144);
  const double time = seconds([&] {
    for (const MethodInfo& info : method_catalogue()) {
      if (info.is_modifier || info.needs_parameters) continue;
      const Table t = table(s, 4, test::method(std::string(info.name)));
      EXPECT_EQ(bound_zeros(inv_freq(s, t.pair_factors), band(s)).smoothed_first_zero, std::nullopt);
    }
  });
  std::printf("14 methods to 2^20: %.3f s\n", time);
  EXPECT_LT(time, 2.0);
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// Budgets that searches and people rely on. Built only without sanitizers; a budget is several times what is measured,
// so that a busy machine does not fail it and a change of complexity does.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "base/json.h"
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

// Whoever writes a file or answers as a server chooses its shape. A quadratic reader took minutes for each of these.
TEST(Speed, FifteenMegabytesOfJsonOfAnyShapeTakeSecondsAtMost) {
  const auto repeated = [](const std::string& open, const std::string& part, const std::string& close) {
    std::string text = open + part;
    while (text.size() < 15'000'000) text += "," + part;
    return text + close;
  };
  std::string keys = "{\"a\":0";
  for (int i = 0; keys.size() < 15'000'000; ++i) keys += ",\"" + std::to_string(i) + "\":0";
  const std::string deep = std::string(29, '[') + std::string(29, ']');
  for (const std::string& text : {keys + "}", repeated("[", "{}", "]"), repeated("[", "{\"a\":{}}", "]"),
                                  repeated("[", "0", "]"), repeated("[", "1e-5", "]"), repeated("[", deep, "]"),
                                  "\"" + std::string(15'000'000, 'x') + "\"", std::string(15'000'000, '[')}) {
    bool parsed = false;
    const double time = seconds([&] { parsed = static_cast<bool>(base::parse_json(text)); });
    std::printf("%.12s…: %s in %.3f s\n", text.c_str(), parsed ? "read" : "refused", time);
    EXPECT_LT(time, 20.0) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace mrrope

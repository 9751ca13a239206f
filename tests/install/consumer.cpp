// SPDX-License-Identifier: MIT
// The README's library example, built against the installed package by CMake and by pkg-config.
#include <mrrope/mrrope.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

int main() {
  const mrrope::Result<mrrope::RopeSpec> spec = mrrope::parse_spec("dim=128,base=10000,ctx=4096");
  if (!spec) return 1;
  const mrrope::Result<mrrope::Plan> plan = mrrope::make_plan(*spec, 65536, mrrope::MrRopePro{});
  if (!plan) {
    std::puts(mrrope::to_string(plan.error()).c_str());
    return 1;
  }
  const mrrope::GroupPlan& table = plan->groups[0];
  std::printf("%s, attention scale %.4f\n", mrrope::describe(table.radix).c_str(), table.attention_scale);
  std::printf("slowest pair: %.3g rad per token\n", table.inv_freq.back());

  // Not in the README: the part of the library that has to be linked with another.
  const std::array<std::int32_t, 1> positions = {0};
  std::array<float, 128> head = {1};
  mrrope::apply_rotary(mrrope::rotary_table(*plan), positions, head.data(), {.heads = 1, .head_dim = head.size()});
  return std::abs(head[0] - static_cast<float>(table.attention_scale)) < 1e-6F ? 0 : 1;
}

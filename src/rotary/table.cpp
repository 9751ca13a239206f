// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cassert>
#include <cmath>

#include "mrrope/plan.h"
#include "mrrope/rotary.h"
#include "theory/precise.h"

namespace mrrope {

namespace {

// The fraction of a turn, times 2^64 and rounded. The 64 bits of an x86 long double hold it to half a unit for speeds
// up to a radian per token; where long double is a double it is good to 2^-53 of the speed (docs/rotary.md).
std::uint64_t step_of(double inv_freq) {
  const long double turns = static_cast<long double>(inv_freq) / theory::kTwoPi;
  const long double step = std::rint(std::ldexp(turns - std::floor(turns), 64));
  return step < 0x1p64L ? static_cast<std::uint64_t>(step) : 0;  // a whole turn is none
}

}  // namespace

RotaryTable::RotaryTable(std::span<const double> inv_freq, double attention_scale)
    : pairs_(inv_freq.size()), attention_scale_(attention_scale) {
  assert(!inv_freq.empty() && std::isfinite(attention_scale) && attention_scale > 0);
  assert(std::all_of(inv_freq.begin(), inv_freq.end(), [](double f) { return std::isfinite(f) && f >= 0; }));
  const std::size_t padded = (pairs_ + kPadding - 1) / kPadding * kPadding;
  upper_.resize(padded);
  lower_.resize(padded);
  for (std::size_t i = 0; i < pairs_; ++i) {
    const std::uint64_t step = step_of(inv_freq[i]);
    upper_[i] = static_cast<std::uint32_t>(step >> 32U);
    lower_[i] = static_cast<std::uint32_t>(step);
  }
}

RotaryTable rotary_table(const Plan& plan, std::size_t group) {
  assert(group < plan.groups.size());
  return RotaryTable(plan.groups[group].inv_freq, plan.groups[group].attention_scale);
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "mrrope/plan.h"
#include "mrrope/tune.h"
#include "mrrope/units.h"

namespace mrrope::tune {

namespace {

// The best tables that were found lie between 0.75 S and S; LongRoPE2 searches S to 2S.
constexpr double kLeastFactor = 0.6;
constexpr double kMostFactor = 2;
// Of what YaRN's law adds to 1: the best scales that were found are 0.3 to 0.7 of it.
constexpr double kLeastScale = -0.25;
constexpr double kMostScale = 1.5;

double rounded(double value, double step) { return std::round(value / step) * step; }

// Multiples of 0.01 and the like are no binary fractions: the nearest double to the decimal, as it is spelt.
double decimals(double value, int digits) {
  const double unit = std::pow(10, digits);
  return std::round(value * unit) / unit;
}

double significant(double value, int digits) {
  return decimals(value, digits - 1 - static_cast<int>(std::floor(std::log10(value))));
}

double place_of(const Axis& axis, double value) {
  return axis.high == axis.low ? 0 : std::clamp((value - axis.low) / (axis.high - axis.low), 0.0, 1.0);
}

}  // namespace

Result<Space> Space::of(const RopeSpec& spec, std::int64_t context_target, const SpaceOptions& options) {
  const Result<Plan> plan = make_plan(spec, context_target, MrRopePro{});
  if (!plan) return plan.error();
  if (!(plan->factor > 1)) {
    return Error{ErrorCode::invalid_argument, "the model reaches this length as it is; there is nothing to tune",
                 "context_target"};
  }
  Space space;
  space.family_ = options.family;
  space.attention_scale_ = options.attention_scale;
  space.pairs_ = static_cast<int>(plan->groups[0].pair_factors.size());
  space.base_ = spec.groups[0].base;

  // The default band, as far as there are pairs
  const double last = space.pairs_ - 1;
  const double low = std::min(plan->groups[0].band.low, last);
  const double high = std::clamp(plan->groups[0].band.high, low, last);
  const double law = 0.1 * std::log(plan->factor);
  const auto axis = [&](std::string_view name, double from, double to, double start) {
    space.axes_.push_back({name, from, to});
    space.start_.push_back(place_of(space.axes_.back(), start));
  };
  if (options.family == Family::any_table) {
    axis("p", -1, 5, 1);
    axis("low", 0, high, low);
    axis("high", low, last, high);
    space.fixed_ = {Yarn{}, MrRopePro{}, MrRopeUni{}, Ntk{}, YarnRotations{}};
  } else {
    axis("shift", -low, last - high, 0);
    space.fixed_ = {Yarn{}, Ntk{}, Linear{}};
  }
  if (options.attention_scale) {
    for (Method& method : space.fixed_) method.attention_scale = options.attention_scale;
  } else {
    axis("attention_scale", 1 + kLeastScale * law, 1 + kMostScale * law, 1 + law);
  }
  // ln S, because half and twice are as far
  axis("factor", std::log(std::max(1.0, kLeastFactor * plan->factor)), std::log(kMostFactor * plan->factor),
       std::log(plan->factor));
  return space;
}

Method Space::at(std::span<const double> point) const {
  std::size_t next = 0;
  const auto value = [&] {
    const Axis& axis = axes_[next];
    return axis.low + std::clamp(point[next++], 0.0, 1.0) * (axis.high - axis.low);
  };
  Method method;
  if (family_ == Family::any_table) {
    MrRopePower law;
    law.p = decimals(value(), 2);
    law.band.low = static_cast<int>(std::lround(value()));
    law.band.high = std::max(*law.band.low, static_cast<int>(std::lround(value())));
    method.law = law;
  } else {
    // [T9]: turns that are b^(k/n) times as many stand k pairs before
    const double turns = std::pow(base_, -rounded(value(), 1) / pairs_);
    Yarn law;
    law.band.beta_fast = significant(law.band.beta_fast * turns, 5);
    law.band.beta_slow = significant(law.band.beta_slow * turns, 5);
    method.law = law;
  }
  method.attention_scale = attention_scale_ ? *attention_scale_ : decimals(value(), 3);
  method.factor = std::max(1.0, significant(std::exp(value()), 3));
  return method;
}

}  // namespace mrrope::tune

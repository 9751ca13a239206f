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
  space.low_ = std::min(plan->groups[0].band.low, last);
  space.high_ = std::clamp(plan->groups[0].band.high, space.low_, last);
  const double law = 0.1 * std::log(plan->factor);
  space.scale_ = 1 + law;
  space.factor_ = plan->factor;
  if (options.family == Family::any_table) {
    space.axes_ = {{"p", -1, 5}, {"low", 0, space.high_}, {"high", space.low_, last}};
    space.fixed_ = {Yarn{}, MrRopePro{}, MrRopeUni{}, Ntk{}, YarnRotations{}};
  } else {
    space.axes_ = {{"shift", -space.low_, last - space.high_}};
    space.fixed_ = {Yarn{}, Ntk{}, Linear{}};
  }
  if (options.attention_scale) {
    for (Method& method : space.fixed_) method.attention_scale = options.attention_scale;
  } else {
    space.axes_.push_back({"attention_scale", 1 + kLeastScale * law, 1 + kMostScale * law});
  }
  // ln S, because half and twice are as far
  space.axes_.push_back(
      {"factor", std::log(std::max(1.0, kLeastFactor * plan->factor)), std::log(kMostFactor * plan->factor)});
  return space;
}

std::optional<std::vector<double>> Space::point_of(const Method& method) const {
  std::vector<double> values;
  const auto band = [&](double p, const BandEdges& edges) {
    values = {p, edges.low ? *edges.low : low_, edges.high ? *edges.high : high_};
  };
  if (family_ == Family::yarn_keys) {
    const auto* law = std::get_if<Yarn>(&method.law);
    if (law == nullptr) return std::nullopt;
    values = {-pairs_ * std::log(law->band.beta_fast / Yarn{}.band.beta_fast) / std::log(base_)};
  } else if (const auto* power = std::get_if<MrRopePower>(&method.law)) {
    band(power->p, power->band);
  } else if (const auto* pro = std::get_if<MrRopePro>(&method.law)) {
    band(1, pro->band);
  } else if (const auto* uni = std::get_if<MrRopeUni>(&method.law)) {
    band(0, uni->band);
  } else {
    return std::nullopt;
  }
  if (!attention_scale_) values.push_back(method.attention_scale.value_or(scale_));
  values.push_back(std::log(method.factor.value_or(factor_)));
  for (std::size_t d = 0; d < values.size(); ++d) values[d] = place_of(axes_[d], values[d]);
  return values;
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

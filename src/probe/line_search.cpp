// SPDX-License-Identifier: MIT
#include "probe/line_search.h"

#include <algorithm>
#include <cmath>

namespace mrrope::probe {

LineSearch::LineSearch(double start, double step, double least_step, double low, double high)
    : at_(std::clamp(start, low, high)), step_(step), least_step_(least_step), low_(low), high_(high) {}

std::optional<double> LineSearch::known(double x) const {
  for (const auto& [place, value] : values_) {
    if (std::abs(place - x) < least_step_ / 4) return value;
  }
  return std::nullopt;
}

std::optional<double> LineSearch::ask() const {
  if (step_ < least_step_) return std::nullopt;
  for (const double x : {at_, at_ - step_, at_ + step_}) {
    if (x >= low_ && x <= high_ && !known(x)) return x;
  }
  return std::nullopt;
}

void LineSearch::tell(double value) {
  values_.emplace_back(*ask(), value);
  while (step_ >= least_step_ && !ask()) {
    const double here = *known(at_);
    const double left = known(at_ - step_).value_or(INFINITY);
    const double right = known(at_ + step_).value_or(INFINITY);
    if (std::min(left, right) < here) at_ += left < right ? -step_ : step_;
    else step_ /= 2;
  }
}

}  // namespace mrrope::probe

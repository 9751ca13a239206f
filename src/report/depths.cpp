// SPDX-License-Identifier: MIT
#include "report/depths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mrrope::report {

namespace {

constexpr std::size_t kMostDepths = 100;

}  // namespace

Depths::Depths(const eval::Answers& answers) {
  bool tenths = false;
  answers.for_each_needle([&](const eval::Answers::Needle& needle) {
    if (tenths) return;
    const auto place = std::lower_bound(asked_.begin(), asked_.end(), needle.asked_depth);
    if (place == asked_.end() || *place != needle.asked_depth) asked_.insert(place, needle.asked_depth);
    tenths = needle.asked_depth < 0 || asked_.size() > kMostDepths;
  });
  if (tenths) asked_.clear();
}

int Depths::row(const eval::Answers::Needle& needle) const noexcept {
  if (asked_.empty()) return static_cast<int>(std::clamp(std::floor(needle.depth * 10), 0.0F, 9.0F));
  return static_cast<int>(std::lower_bound(asked_.begin(), asked_.end(), needle.asked_depth) - asked_.begin());
}

std::string Depths::name(int row) const {
  return asked_.empty() ? fmt::format("{}-{} %", 10 * row, 10 * row + 10)
                        : fmt::format("{:.3g} %", 100 * asked_[static_cast<std::size_t>(row)]);
}

}  // namespace mrrope::report

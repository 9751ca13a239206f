// SPDX-License-Identifier: MIT
#include "report/depths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mrrope::report {

namespace {

constexpr std::size_t kMostDepths = 100;

}  // namespace

Depths::Depths(std::span<const Score> scores) {
  for (const Score& s : scores) {
    if (s.depth < 0) continue;
    const auto place = std::lower_bound(asked_.begin(), asked_.end(), s.asked_depth);
    if (place == asked_.end() || *place != s.asked_depth) asked_.insert(place, s.asked_depth);
    if (s.asked_depth < 0 || asked_.size() > kMostDepths) {
      asked_.clear();
      return;
    }
  }
}

int Depths::row(const Score& needle) const noexcept {
  if (asked_.empty()) return static_cast<int>(std::clamp(std::floor(needle.depth * 10), 0.0F, 9.0F));
  return static_cast<int>(std::lower_bound(asked_.begin(), asked_.end(), needle.asked_depth) - asked_.begin());
}

std::string Depths::name(int row) const {
  return asked_.empty() ? fmt::format("{}-{} %", 10 * row, 10 * row + 10)
                        : fmt::format("{:.3g} %", 100 * asked_[static_cast<std::size_t>(row)]);
}

}  // namespace mrrope::report

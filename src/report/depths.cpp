// SPDX-License-Identifier: MIT
#include "report/depths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "mrrope/units.h"

namespace mrrope::report {

namespace {

constexpr double kMostDepths = 100;

int asked_for(const RunInfo& run) {
  for (std::size_t i = 0; i + 1 < run.command.size(); ++i) {
    if (run.command[i] != "--depths") continue;
    const Result<double> number = parse_number(run.command[i + 1]);
    if (number && *number >= 2 && *number <= kMostDepths) return static_cast<int>(*number);
  }
  return 0;
}

}  // namespace

Depths::Depths(std::span<const RunInfo> runs) {
  std::optional<int> common;
  for (const RunInfo& run : runs) {
    if (run.task == "ppl" || run.task == "gap") continue;
    const int here = asked_for(run);
    if (common && *common != here) return;
    common = here;
  }
  steps_ = common.value_or(0);
}

int Depths::row(double depth) const noexcept {
  const double place = steps_ > 1 ? std::round(depth * (steps_ - 1)) : std::floor(depth * 10);
  return static_cast<int>(std::clamp(place, 0.0, static_cast<double>(count() - 1)));
}

std::string Depths::name(int row) const {
  return steps_ > 1 ? fmt::format("{:.0f} %", 100.0 * row / (steps_ - 1))
                    : fmt::format("{}-{} %", 10 * row, 10 * row + 10);
}

}  // namespace mrrope::report

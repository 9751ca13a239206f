// SPDX-License-Identifier: MIT
//
// Needles found, by plan, length and depth.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "mrrope/answers.h"
#include "report/depths.h"

namespace mrrope::report {

struct NeedleGrid {
  std::string title;  // the task, or how many
  std::vector<eval::PlanName> plans;
  std::vector<std::int64_t> lengths;  // ascending
  Depths depths;

  struct Cell {
    double sum = 0;
    std::int64_t samples = 0;
    [[nodiscard]] double percent() const { return 100 * sum / static_cast<double>(samples); }
  };
  [[nodiscard]] const Cell* at(std::size_t plan, std::int64_t length, int row) const;

  std::map<std::tuple<std::size_t, std::int64_t, int>, Cell> cells;
};

// One grid for each task with needles, or one for all of them where there are more than two: RULER has eight.
std::vector<NeedleGrid> needle_grids(const eval::Answers& answers);

}  // namespace mrrope::report

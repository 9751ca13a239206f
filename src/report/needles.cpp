// SPDX-License-Identifier: MIT
#include "report/needles.h"

#include <fmt/format.h>

#include <algorithm>

namespace mrrope::report {

const NeedleGrid::Cell* NeedleGrid::at(std::size_t plan, std::int64_t length, int row) const {
  const auto found = cells.find({plan, length, row});
  return found != cells.end() ? &found->second : nullptr;
}

std::vector<NeedleGrid> needle_grids(const Runs& runs) {
  const Depths depths(runs.scores);
  std::vector<std::uint16_t> tasks;  // with needles, in the order of the records
  for (const Score& s : runs.scores) {
    if (s.depth >= 0 && std::find(tasks.begin(), tasks.end(), s.task) == tasks.end()) tasks.push_back(s.task);
  }
  std::vector<NeedleGrid> grids;
  if (tasks.empty()) return grids;
  const bool together = tasks.size() > 2;
  for (std::size_t g = 0; g < (together ? 1 : tasks.size()); ++g) {
    grids.push_back({.title = together ? fmt::format("{} tasks", tasks.size()) : runs.tasks[tasks[g]],
                     .plans = runs.scored_plans,
                     .lengths = {},
                     .depths = depths,
                     .cells = {}});
  }
  for (const Score& s : runs.scores) {
    if (s.depth < 0) continue;
    const auto task = std::find(tasks.begin(), tasks.end(), s.task) - tasks.begin();
    NeedleGrid& grid = grids[together ? 0 : static_cast<std::size_t>(task)];
    NeedleGrid::Cell& cell = grid.cells[{s.plan, s.length, depths.row(s)}];
    cell.sum += s.score;
    ++cell.samples;
    if (std::find(grid.lengths.begin(), grid.lengths.end(), s.length) == grid.lengths.end()) {
      grid.lengths.push_back(s.length);
    }
  }
  for (NeedleGrid& grid : grids) std::sort(grid.lengths.begin(), grid.lengths.end());
  return grids;
}

}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
#include "report/needles.h"

#include <fmt/format.h>

#include <algorithm>

namespace mrrope::report {

const NeedleGrid::Cell* NeedleGrid::at(std::size_t plan, std::int64_t length, int row) const {
  const auto found = cells.find({plan, length, row});
  return found != cells.end() ? &found->second : nullptr;
}

std::vector<NeedleGrid> needle_grids(const eval::Answers& answers) {
  const Depths depths(answers);
  std::vector<std::size_t> tasks;  // with needles, in the order of the records
  answers.for_each_needle([&](const eval::Answers::Needle& n) {
    if (tasks.empty() || tasks.back() != n.task) tasks.push_back(n.task);
  });
  std::vector<NeedleGrid> grids;
  if (tasks.empty()) return grids;
  const bool together = tasks.size() > 2;
  for (std::size_t g = 0; g < (together ? 1 : tasks.size()); ++g) {
    grids.push_back({.title = together ? fmt::format("{} tasks", tasks.size()) : answers.tasks()[tasks[g]],
                     .plans = answers.plans(),
                     .lengths = {},
                     .depths = depths,
                     .cells = {}});
  }
  answers.for_each_needle([&](const eval::Answers::Needle& n) {
    NeedleGrid& grid = grids[together || n.task == tasks.front() ? 0 : 1];
    NeedleGrid::Cell& cell = grid.cells[{n.plan, n.length, depths.row(n)}];
    cell.sum += n.score;
    ++cell.samples;
  });
  for (NeedleGrid& grid : grids) {
    for (const auto& [place, cell] : grid.cells) grid.lengths.push_back(std::get<1>(place));
    std::sort(grid.lengths.begin(), grid.lengths.end());
    grid.lengths.erase(std::unique(grid.lengths.begin(), grid.lengths.end()), grid.lengths.end());
  }
  return grids;
}

}  // namespace mrrope::report

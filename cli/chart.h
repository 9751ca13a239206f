// SPDX-License-Identifier: MIT
//
// Small charts made of characters: one column per value, filled from below in eighths of a line (halves in ASCII).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mrrope::cli {

struct BarChart {
  std::span<const double> values;
  double min = 0;          // value of an empty column
  double max = 1;          // value of a full column; larger ones (a pair that stands still) are drawn hatched
  bool log_scale = false;  // min > 0
  std::size_t height = 5;  // lines
  std::size_t width = 64;  // columns at most; more values are averaged into columns
  std::string axis = {};   // text under the chart, already fitted to the columns
};

// Lines with the axis values at the left, ten columns wide.
std::string draw(const BarChart& chart);

// One line of `width` columns, from min to max; values at or below min leave their column blank.
std::string sparkline(std::span<const double> values, double min, double max, std::size_t width);

// `values` brought to at most `width` columns by averaging neighbours.
std::vector<double> resample(std::span<const double> values, std::size_t width);

}  // namespace mrrope::cli

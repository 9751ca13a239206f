// SPDX-License-Identifier: MIT
#include "cli/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// A cell filled to 0 … 8 eighths.
std::string_view block(int eighths) {
  static constexpr std::array<std::string_view, 9> unicode = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> ascii = {" ", ".", ".", ".", ":", ":", ":", "|", "|"};
  return (terminal().unicode ? unicode : ascii).at(static_cast<std::size_t>(std::clamp(eighths, 0, 8)));
}

std::string_view hatch() { return terminal().unicode ? "░" : "x"; }

}  // namespace

std::vector<double> resample(std::span<const double> values, std::size_t width) {
  if (values.size() <= width) return {values.begin(), values.end()};
  std::vector<double> out;
  for (std::size_t c = 0; c < width; ++c) {
    const std::size_t from = c * values.size() / width;
    const std::size_t to = std::max(from + 1, (c + 1) * values.size() / width);
    const auto part = values.subspan(from, to - from);
    out.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size()));
  }
  return out;
}

std::string draw(const BarChart& chart) {
  const auto scale = [&](double v) { return chart.log_scale ? std::log(v) : v; };
  const double span = scale(chart.max) - scale(chart.min);
  const std::vector<double> columns_of = resample(chart.values, chart.width);
  const int steps = static_cast<int>(chart.height) * 8;
  std::string out;
  for (std::size_t line = 0; line < chart.height; ++line) {
    // Axis values at the top and the bottom line only: the eye interpolates
    const bool labelled = line == 0 || line + 1 == chart.height;
    const double label = line == 0 ? chart.max : chart.min;
    out += labelled ? fmt::format("  {:>7.4g} ", label) : std::string(10, ' ');
    out += terminal().unicode ? "│" : "|";
    const int below = static_cast<int>(chart.height - 1 - line) * 8;
    std::string row;
    for (const double value : columns_of) {
      if (value > chart.max * (1 + 1e-9)) {
        row += hatch();
        continue;
      }
      const double share = span > 0 ? (scale(std::max(value, chart.min)) - scale(chart.min)) / span : 0;
      // The lowest eighth is always drawn: a column that exists is seen
      row += block(std::max(1, static_cast<int>(std::lround(share * steps))) - below);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  if (!chart.axis.empty()) out += std::string(11, ' ') + dim(chart.axis) + "\n";
  return out;
}

std::string sparkline(std::span<const double> values, double min, double max, std::size_t width) {
  std::string out;
  for (const double value : resample(values, width)) {
    const double share = max > min ? (value - min) / (max - min) : 0;
    out += value > max * (1 + 1e-9) ? hatch()
           : value <= min           ? block(0)
                                    : block(std::max(1, static_cast<int>(std::lround(share * 8))));
  }
  return out;
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include "cli/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/chart.h"
#include "cli/terminal.h"
#include "mrrope/units.h"
#include "report/loss_curves.h"
#include "report/needles.h"

namespace mrrope::cli {

namespace {

using report::LossCurves;
using report::NeedleGrid;

constexpr std::size_t kCell = 6;  // a shade, a number, a space: "█ 100 "

// Darker is better, as ink on paper; the number says it again.
std::string_view shade(double percent) {
  static constexpr std::array<std::string_view, 5> unicode = {"·", "░", "▒", "▓", "█"};
  static constexpr std::array<std::string_view, 5> ascii = {".", "-", "+", "*", "#"};
  const auto step = percent >= 100 ? std::size_t{4}
                    : percent <= 0 ? std::size_t{0}
                                   : 1 + static_cast<std::size_t>(percent / 33.4);
  return (terminal().unicode ? unicode : ascii).at(step);
}

std::string padded(std::string text, std::size_t width) {
  if (columns(text) < width) text.append(width - columns(text), ' ');
  return text;
}

// The lines of one plan's block, all of the same width.
std::vector<std::string> block_of(const NeedleGrid& grid, std::size_t plan, std::size_t width) {
  std::vector<std::string> lines;
  std::string name = base::printable(grid.plans[plan].text());
  if (name.size() > width) name = name.substr(0, width - 3) + "...";
  lines.push_back(bold(name) + std::string(width - columns(name), ' '));
  std::string head;
  for (const std::int64_t length : grid.lengths) head += fmt::format("{:>{}} ", format_context(length), kCell - 1);
  lines.push_back(dim(padded(head, width)));
  for (int row = 0; row < grid.depths.count(); ++row) {
    std::string line;
    for (const std::int64_t length : grid.lengths) {
      const NeedleGrid::Cell* cell = grid.at(plan, length, row);
      line += cell == nullptr ? std::string(kCell, ' ')
                              : fmt::format("{} {:>3.0f} ", shade(cell->percent()), cell->percent());
    }
    lines.push_back(padded(std::move(line), width));
  }
  return lines;
}

std::string draw_grid(const NeedleGrid& grid, std::int64_t trained) {
  std::size_t label = 0;
  for (int row = 0; row < grid.depths.count(); ++row) label = std::max(label, grid.depths.name(row).size());
  const std::size_t width = grid.lengths.size() * kCell;
  const std::size_t margin = label + 3;
  const std::size_t room = terminal().width > margin ? terminal().width - margin : 0;
  const std::size_t beside = std::max<std::size_t>(1, (room + 2) / (width + 2));  // blocks in a row
  std::string out =
      fmt::format("{}: percent found by length (across) and depth (down){}\n", base::printable(grid.title),
                  trained > 0 ? fmt::format("; trained for {}", format_context(trained)) : "");
  for (std::size_t first = 0; first < grid.plans.size(); first += beside) {
    std::vector<std::vector<std::string>> blocks;
    for (std::size_t plan = first; plan < std::min(grid.plans.size(), first + beside); ++plan) {
      blocks.push_back(block_of(grid, plan, width));
    }
    for (std::size_t line = 0; line < blocks.front().size(); ++line) {
      std::string text = fmt::format("  {:>{}} ", line < 2 ? "" : grid.depths.name(static_cast<int>(line) - 2), label);
      for (const std::vector<std::string>& block : blocks) text += block[line] + "  ";
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    }
  }
  return out;
}

}  // namespace

std::string needle_chart(const eval::Answers& answers, const eval::RunInfo& info) {
  std::string out;
  for (const NeedleGrid& grid : report::needle_grids(answers)) {
    std::vector<int> rows;
    for (const auto& [place, cell] : grid.cells) rows.push_back(std::get<2>(place));
    if (std::count(rows.begin(), rows.end(), rows.front()) == std::ssize(rows)) continue;
    out += "\n" + draw_grid(grid, info.context_trained);
  }
  return out;
}

std::string loss_chart(const eval::Readings& readings, const eval::RunInfo& info) {
  std::size_t widest = 18;  // name: as wide as the longest needs, within reason
  for (const eval::PlanName& plan : readings.plans()) widest = std::max(widest, plan.text().size());
  const std::size_t name_width = std::min<std::size_t>(widest, 26);
  constexpr std::size_t kMargin = 12;  // around the name, and the number at the end
  const std::size_t width = std::min<std::size_t>(terminal().width - name_width - kMargin, 96);
  const std::optional<LossCurves> curves = report::loss_curves(readings, width);
  if (!curves) return "";
  double low = curves->nll.front().front();
  double high = low;
  for (const std::vector<double>& curve : curves->nll) {
    const auto [smallest, largest] = std::minmax_element(curve.begin(), curve.end());
    low = std::min(low, *smallest);
    high = std::max(high, *largest);
  }
  std::string out = fmt::format("\nLoss by position, nats a token, over {} text{} (height {:.2f} .. {:.2f})\n",
                                curves->documents, curves->documents == 1 ? "" : "s", low, high);
  const std::size_t wide = std::max<std::size_t>(1, width / curves->ends.size());  // columns of a stretch
  for (std::size_t p = 0; p < curves->plans.size(); ++p) {
    std::string name = curves->plans[p].text();
    if (name.size() > name_width) name = name.substr(0, name_width - 3) + "...";
    std::vector<double> drawn;
    for (const double nll : curves->nll[p]) drawn.insert(drawn.end(), wide, nll);
    // A little below the lowest, which is a value and not nothing
    out += fmt::format("  {:<{}} {} {:.3f}\n", name, name_width, sparkline(drawn, low - (high - low) / 8, high, width),
                       curves->nll[p].back());
  }
  // Where the trained length is, and the end
  std::string axis(wide * curves->ends.size(), ' ');
  const std::string end = format_context(curves->ends.back());
  if (axis.size() > end.size()) axis.replace(axis.size() - end.size(), end.size(), end);
  const auto beyond = std::find_if(curves->ends.begin(), curves->ends.end(),
                                   [&](std::int64_t tokens) { return tokens > info.context_trained; });
  const std::string mark = "^ trained " + format_context(info.context_trained);
  const auto at = static_cast<std::size_t>(beyond - curves->ends.begin()) * wide;
  if (info.context_trained > 0 && at + mark.size() + end.size() + 1 < axis.size()) axis.replace(at, mark.size(), mark);
  return out + fmt::format("  {:<{}} {}\n", "", name_width, dim(axis));
}

}  // namespace mrrope::cli

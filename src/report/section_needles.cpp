// SPDX-License-Identifier: MIT
//
// Needles by length and depth: the picture everybody knows, for all plans side by side on one scale.
#include <fmt/format.h>

#include <algorithm>

#include "mrrope/units.h"
#include "report/needles.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

using base::Json;

constexpr int kStep = 20;                 // pixels of a row
constexpr std::size_t kNumbersUpTo = 16;  // lengths: beyond that a cell has no room for its number

Json texts(auto&& list, auto text) {
  Json out = Json::array();
  for (const auto& thing : list) out.push_back(text(thing));
  return out;
}

// "Found every time: a in 12 of 50 cells, …", the best first.
std::string conclusion_of(const NeedleGrid& grid) {
  struct Count {
    std::string plan;
    std::size_t full = 0, measured = 0;
  };
  std::vector<Count> counts;
  for (const eval::PlanName& plan : grid.plans) counts.push_back({plan.text()});
  for (const auto& [place, cell] : grid.cells) {
    Count& count = counts[std::get<0>(place)];
    ++count.measured;
    if (cell.sum == static_cast<double>(cell.samples)) ++count.full;
  }
  std::erase_if(counts, [](const Count& c) { return c.measured == 0; });
  std::stable_sort(counts.begin(), counts.end(), [](const Count& a, const Count& b) { return a.full > b.full; });
  std::string list;
  for (const Count& c : counts) {
    list += fmt::format("{}{} in {} of {} cells", list.empty() ? "" : ", ", c.plan, c.full, c.measured);
  }
  return fmt::format("Found every time: {}.", list);
}

void fill(Figure& figure, const NeedleGrid& grid) {
  figure.data.columns = {"plan", "length", "depth", "score", "samples"};
  figure.table.header = {"plan", "depth"};
  figure.table.left = 2;
  for (const std::int64_t length : grid.lengths) figure.table.header.push_back(format_context(length));
  for (std::size_t plan = 0; plan < grid.plans.size(); ++plan) {
    for (int row = 0; row < grid.depths.count(); ++row) {
      std::vector<std::string> line = {grid.plans[plan].text(), grid.depths.name(row)};
      for (const std::int64_t length : grid.lengths) {
        const NeedleGrid::Cell* cell = grid.at(plan, length, row);
        line.push_back(cell == nullptr ? "-" : fmt::format("{:.0f}", cell->percent()));
        if (cell == nullptr) continue;
        figure.data.rows.push_back(
            {line[0], format_context(length), grid.depths.name(row), cell->percent(), cell->samples});
      }
      figure.table.rows.push_back(std::move(line));
    }
  }
}

// A rule after the last length that was trained for; nothing if all were, or nobody knows.
std::optional<Json> trained_rule(const NeedleGrid& grid, std::int64_t trained) {
  const auto beyond =
      std::find_if(grid.lengths.begin(), grid.lengths.end(), [&](std::int64_t l) { return l > trained; });
  if (trained <= 0 || beyond == grid.lengths.end()) return std::nullopt;
  const bool first = beyond == grid.lengths.begin();
  const Json row{{"length", format_context(first ? *beyond : *(beyond - 1))}};
  return Json{{"data", Json{{"values", Json::array({row})}}},
              {"mark", Json{{"type", "rule"}, {"strokeWidth", 2.5}, {"color", "#D55E00"}}},
              {"encoding", Json{{"x", Json{{"field", "length"}, {"type", "ordinal"}, {"bandPosition", first ? 0 : 1}}},
                                {"y", Json{{"value", 0}}},
                                {"y2", Json{{"value", kStep * grid.depths.count()}}}}}};
}

Figure figure_of(const Context& context, const NeedleGrid& grid, std::string name) {
  const std::int64_t trained = context.runs.context_trained();
  Figure figure{.name = std::move(name), .title = "Needles by length and depth: " + grid.title};
  fill(figure, grid);
  figure.conclusion = conclusion_of(grid);
  figure.reading = fmt::format(
      "Percent found by length (across) and by the needle's depth in the text (down), one scale for all plans; bright "
      "and 100 is good, an empty cell was not measured.{}",
      trained > 0 ? fmt::format(" The rule marks the trained length, {}.", format_context(trained)) : "");
  std::vector<int> rows(static_cast<std::size_t>(grid.depths.count()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int>(i);
  figure.spec = make_spec(R"({
    "facet": {"field": "plan", "type": "nominal", "title": null, "sort": "@plans",
              "header": {"labelFontWeight": "bold", "labelLimit": 260}},
    "columns": 3, "spacing": {"row": 18, "column": 18},
    "spec": {
      "width": {"step": 40}, "height": {"step": 20},
      "encoding": {"x": {"field": "length", "type": "ordinal", "title": "tokens", "scale": {"domain": "@lengths"},
                         "axis": {"labelAngle": 0, "domain": false, "ticks": false}},
                   "y": {"field": "depth", "type": "ordinal", "title": null, "scale": {"domain": "@depths"},
                         "axis": {"domain": false, "ticks": false}}},
      "layer": [
        {"mark": {"type": "rect", "tooltip": {"content": "data"}},
         "encoding": {"color": {"field": "score", "type": "quantitative", "title": "percent found",
                                "scale": {"domain": [0, 100], "scheme": "cividis"},
                                "legend": {"orient": "bottom", "direction": "horizontal", "gradientLength": 200}}}}
      ]},
    "resolve": {"axis": {"x": "independent", "y": "independent"}}
  })",
                          figure.conclusion, figure.data,
                          {{"plans", texts(grid.plans, [](const eval::PlanName& p) { return p.text(); })},
                           {"lengths", texts(grid.lengths, format_context)},
                           {"depths", texts(rows, [&](int row) { return grid.depths.name(row); })}});
  Json& layers = figure.spec["spec"]["layer"];
  if (grid.lengths.size() <= kNumbersUpTo) {
    layers.push_back(Json::parse(R"({"mark": {"type": "text", "fontSize": 10},
      "encoding": {"text": {"field": "score", "type": "quantitative", "format": ".0f"},
                   "color": {"condition": {"test": "datum.score > 55", "value": "#111"}, "value": "#fff"}}})"));
  }
  if (auto rule = trained_rule(grid, trained)) layers.push_back(*std::move(rule));
  return figure;
}

}  // namespace

std::vector<Figure> needle_figures(const Context& context) {
  std::vector<Figure> figures;
  const std::vector<NeedleGrid> grids = needle_grids(context.runs.answers);
  figures.reserve(grids.size());
  for (const NeedleGrid& grid : grids) {
    figures.push_back(
        figure_of(context, grid, grids.size() == 1 ? "needles" : fmt::format("needles-{}", figures.size() + 1)));
  }
  return figures;
}

}  // namespace mrrope::report

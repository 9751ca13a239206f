// SPDX-License-Identifier: MIT
//
// Where in a text a plan loses, and the cost at short lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mrrope/units.h"
#include "report/loss_curves.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

constexpr std::size_t kPoints = 64;  // of a curve over positions

}  // namespace

std::optional<Figure> position_figure(const Context& context) {
  const std::optional<LossCurves> curves = loss_curves(context.runs.passes, kPoints);
  if (!curves) return std::nullopt;
  Figure figure{.name = "nll-position", .title = "Loss by position in the text"};
  figure.data.columns = {"plan", "position", "nll"};
  figure.table.header = {"position"};
  std::size_t lowest = 0;
  std::size_t highest = 0;
  for (std::size_t p = 0; p < curves->plans.size(); ++p) {
    figure.table.header.push_back(curves->plans[p].text());
    for (std::size_t i = 0; i < curves->ends.size(); ++i) {
      figure.data.rows.push_back({curves->plans[p].text(), curves->ends[i], curves->nll[p][i]});
    }
    if (curves->nll[p].back() < curves->nll[lowest].back()) lowest = p;
    if (curves->nll[p].back() > curves->nll[highest].back()) highest = p;
  }
  for (std::size_t i = 0; i < curves->ends.size(); ++i) {
    std::vector<std::string> cells = {std::to_string(curves->ends[i])};
    for (const std::vector<double>& curve : curves->nll) cells.push_back(fmt::format("{:.4f}", curve[i]));
    figure.table.rows.push_back(std::move(cells));
  }
  const std::string end = format_context(curves->ends.back());
  const auto last = [&](std::size_t p) {
    return fmt::format("{} {:.3f}", curves->plans[p].text(), curves->nll[p].back());
  };
  figure.conclusion = lowest == highest
                          ? fmt::format("Nats a token over the last stretch before {}: {}.", end, last(lowest))
                          : fmt::format("Nats a token over the last stretch before {}: {} is lowest, {} highest.", end,
                                        last(lowest), last(highest));
  figure.reading = fmt::format(
      "Mean of -ln p over stretches of {} tokens of {} text{}; lower is better. A mean over the whole text hides where "
      "a "
      "plan gives way: here it is the place where its line leaves the others.",
      curves->stretch, curves->documents, curves->documents == 1 ? "" : "s");
  const base::Json look = context.look.encodings(curves->plans);
  const std::vector<std::int64_t> ends = {0, curves->ends.back()};
  const base::Json x = token_axis("position", "position in the text, tokens", curves->ends.back());
  const base::Json y = base::Json::parse(
      R"({"field": "nll", "type": "quantitative", "title": "-ln p, nats a token", "scale": {"zero": false}})");
  figure.spec = make_spec(R"({
    "width": "container", "height": 260,
    "layer": [
      {"mark": {"type": "line", "strokeWidth": 1.8, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": "@y", "color": "@colour", "strokeDash": "@dash"}},
      "@points"
    ]})",
                          figure.conclusion, figure.data,
                          {{"x", x},
                           {"y", y},
                           {"colour", look["colour"]},
                           {"dash", look["dash"]},
                           {"points", sparse_points(x, y, look, curves->ends.size())}});
  for (base::Json& layer : trained_layers(context.runs.context_trained(), ends)) figure.spec["layer"].push_back(layer);
  return figure;
}

std::optional<Figure> short_figure(const Context& context) {
  const eval::Readings& readings = context.runs.passes;
  const std::int64_t trained = context.runs.context_trained();
  const std::vector<eval::PplRow>& rows = readings.rows();
  // The longest length that the model was trained for, as far as it was measured on the file as it is
  std::int64_t length = 0;
  for (const eval::PplRow& row : rows) {
    if (row.method == "none" && row.length <= trained) length = std::max(length, row.length);
  }
  if (length == 0) return std::nullopt;
  Figure figure{.name = "short", .title = fmt::format("Cost at short lengths ({} tokens)", format_context(length))};
  figure.data.columns = {"plan", "length", "ppl", "percent", "low", "high", "verdict", "kl", "documents"};
  figure.table.header = {"plan", "perplexity", "against none", "KL, nats a token"};
  std::vector<eval::PlanName> shown;
  std::vector<std::string> words;
  double lowest = 0;
  double highest = 0;
  for (const eval::PplRow& row : rows) {
    if (row.length != length) continue;
    const eval::PlanName plan{row.method, row.factor};
    const eval::Comparison c = readings.compare(plan, {"none", 1}, length);
    figure.table.rows.push_back({plan.text(), ppl_text(row.ppl), row.method == "none" ? "-" : c.verdict(),
                                 row.kl >= 0 ? fmt::format("{:.4f}", row.kl) : "-"});
    if (row.method == "none" || c.documents == 0) continue;
    shown.push_back(plan);
    const auto percent = [](double ratio) { return std::isfinite(ratio) ? Cell(100 * (ratio - 1)) : Cell(); };
    figure.data.rows.push_back({plan.text(), length, row.ppl, percent(c.ratio), percent(c.ratio_low),
                                percent(c.ratio_high),
                                std::string(c.too_few()   ? "too few"
                                            : !c.differs  ? "tied"
                                            : c.ratio < 1 ? "lower"
                                                          : "higher"),
                                row.kl >= 0 ? Cell(row.kl) : Cell(), static_cast<std::int64_t>(c.documents)});
    if (std::isfinite(c.ratio_high)) {
      lowest = std::min(lowest, 100 * (c.ratio_low - 1));
      highest = std::max(highest, 100 * (c.ratio_high - 1));
    }
    words.push_back(fmt::format("{} {}", plan.text(), c.verdict()));
  }
  if (shown.empty()) return std::nullopt;
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : "; ") + word;
  figure.conclusion = fmt::format("What texts of {} tokens pay in perplexity, against the file as it is: {}.",
                                  format_context(length), all);
  figure.reading =
      "Difference of perplexity in percent at a length the model was trained for, with 95 % intervals; 0 is free. "
      "Filled: 0 lies outside the interval. KL: how far the probabilities move, where it was measured.";
  base::Json names = base::Json::array();
  for (const eval::PlanName& plan : shown) names.push_back(plan.text());
  const base::Json look = context.look.encodings(shown);
  const base::Json percent = percent_scale(lowest, highest);
  figure.spec = make_spec(R"({
    "width": "container", "height": "@height",
    "layer": [
      {"data": {"values": [{}]}, "mark": {"type": "rule", "color": "#808080"},
       "encoding": {"x": {"datum": 0}}},
      {"mark": {"type": "rule", "strokeWidth": 2},
       "encoding": {"y": {"field": "plan", "type": "nominal", "title": null, "sort": "@names", "axis": {"labelLimit": 150}},
                    "x": {"field": "low", "type": "quantitative", "title": "perplexity, % difference to none",
                          "scale": "@scale", "axis": "@axis"},
                    "x2": {"field": "high"}, "color": "@colour"}},
      {"mark": {"type": "point", "size": 70, "tooltip": {"content": "data"}},
       "encoding": {"y": {"field": "plan", "type": "nominal", "sort": "@names"}, "x": {"field": "percent", "type": "quantitative"},
                    "color": "@colour", "shape": "@shape", "fill": "@colour",
                    "fillOpacity": {"condition": {"test": "datum.verdict === 'tied' || datum.verdict === 'too few'", "value": 0}, "value": 1}}}
    ]})",
                          figure.conclusion, figure.data,
                          {{"names", names},
                           {"height", 26 * shown.size()},
                           {"scale", percent["scale"]},
                           {"axis", percent["axis"]},
                           {"colour", look["colour"]},
                           {"shape", look["shape"]}});
  for (base::Json& layer : figure.spec["layer"]) {  // the axis names the plans
    for (const char* channel : {"color", "shape", "fill"}) {
      if (layer["encoding"].contains(channel)) layer["encoding"][channel]["legend"] = nullptr;
    }
  }
  return figure;
}

}  // namespace mrrope::report

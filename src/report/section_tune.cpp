// SPDX-License-Identifier: MIT
//
// The search of mrrope tune: what it lowered while it read, and which tables are the best within and beyond the trained
// length. Losses are shown in percent against the best published method, as perplexities are: 100 (e^(a - b) - 1) for a
// and b in nats per token.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mrrope/units.h"
#include "report/sections.h"
#include "report/tune_words.h"

namespace mrrope::report {

namespace {

using Table = TuneFile::Table;

double percent(double loss, double against) { return 100 * std::expm1(loss - against); }

// "3.98 million", "219 thousand": tokens of a budget are no power of two.
std::string many(std::int64_t tokens) {
  const auto n = static_cast<double>(tokens);
  return tokens >= 1'000'000 ? fmt::format("{:.2f} million", n / 1e6) : fmt::format("{:.0f} thousand", n / 1e3);
}

// What a picture calls a table: what the search chose by its short name, published methods by theirs, the others not at
// all.
std::optional<std::string> name_of(const TuneFile& tune, const Table& table) {
  if (&table == &tune.tuned_table()) return tune.label;
  return table.fixed ? std::optional(table.method) : std::nullopt;
}

std::string weights(const TuneFile& tune) {
  const std::string trained = format_context(tune.context_trained);
  if (tune.prefer == "long") return fmt::format("tokens beyond {} weigh nine times as much as those within", trained);
  if (tune.prefer == "short") return fmt::format("tokens within {} weigh nine times as much as those beyond", trained);
  return fmt::format("tokens within {} and beyond weigh the same", trained);
}

// Published and found tables, and the one that the search chose, in marks that differ without colour, too.
base::Json marks(const char* range) {
  base::Json out{{"field", "kind"}, {"type", "nominal"}, {"title", nullptr}};
  out["scale"] =
      base::Json{{"domain", {"published", "found", "best of the search"}}, {"range", base::Json::parse(range)}};
  out["legend"] = base::Json{{"symbolOpacity", 1}};
  return out;
}
Parts kind_marks() {
  return {{"colour", marks(R"(["#0072B2", "#808080", "#D55E00"])")},
          {"shape", marks(R"(["square", "circle", "diamond"])")},
          {"size", base::Json::parse(R"({"condition": {"test": "datum.kind === 'best of the search'", "value": 170},
                                         "value": 55})")}};
}
std::string kind_of(const TuneFile& tune, const Table& table) {
  return &table == &tune.tuned_table() ? "best of the search" : table.fixed ? "published" : "found";
}

// What is found differs by a few percent; a method that breaks the model must not press that flat. `room` is for words.
base::Json percent_axis(const std::string& field, const std::string& title, double low, double high, int room) {
  constexpr double kFew = 10;
  base::Json axis{{"field", field}, {"type", "quantitative"}, {"title", title}};
  axis.update(percent_scale(low, high, kFew));
  axis["scale"]["padding"] = room;
  return axis;
}

Figure search_figure(const TuneFile& tune, const std::string& name) {
  const Table& fixed = tune.best_fixed_table();
  const Table& tuned = tune.tuned_table();
  Figure figure{.name = name,
                .title = fmt::format("The search for a plan from {} to {} tokens", format_context(tune.context_trained),
                                     format_context(tune.context))};
  figure.data.columns = {"tokens", "method", "kind", "percent", "best", "objective"};
  figure.table.header = {"table", "tokens", "% against " + fixed.method, "loss, nats per token"};
  double best = INFINITY;
  double worst = 0;
  for (const Table& table : tune.search) {
    const double loss = percent(table.objective, fixed.objective);
    best = std::min(best, loss);
    worst = std::max(worst, loss);
    figure.data.rows.push_back({table.tokens, table.method, kind_of(tune, table), loss, best, table.objective});
    figure.table.rows.push_back({table.method, std::to_string(table.tokens), fmt::format("{:+.2f}", loss),
                                 fmt::format("{:.4f}", table.objective)});
  }
  const std::string all = tune.evaluations > static_cast<std::int64_t>(tune.search.size())
                              ? fmt::format(" ({} of them on everything)", tune.search.size())
                              : "";
  const std::string best_method = fixed.method + ", the best published method on the tuning texts";
  figure.conclusion =
      tune.tuned == tune.best_fixed
          ? fmt::format("After {} tables{} the search had found none below {}.", tune.evaluations, all, best_method)
          : fmt::format("After {} tables{} the search was {:.1f} % below {}; {}.", tune.evaluations, all,
                        -percent(tuned.objective, fixed.objective), best_method,
                        &tuned == &tune.search.back() ? "the last table was the best, and more minutes may find more"
                                                      : fmt::format("the last improvement came after {} of {} tokens",
                                                                    many(tuned.tokens), many(tune.tokens)));
  figure.reading = fmt::format(
      "Loss of every table that was measured on all tuning texts and prompts, in percent of perplexity (-1 %: 0.01 "
      "nats per token less); {}, and beyond includes half of -ln p of right answers. The line is the best so far. On "
      "what it reads, a search gets lower whatever it finds; the verdict is from what it has not read.",
      weights(tune));
  Parts parts = kind_marks();
  parts.emplace_back("x", base::Json::parse(R"({"field": "tokens", "type": "quantitative", "title": "tokens read",
      "scale": {"nice": false, "padding": 12}, "axis": {"grid": false, "format": "~s", "tickCount": 6}})"));
  parts.emplace_back("y", percent_axis("percent", "loss, % against " + fixed.method, best, worst, 12));
  figure.spec = make_spec(R"({
    "width": "container", "height": 260,
    "layer": [
      {"mark": {"type": "line", "interpolate": "step-after", "color": "#D55E00", "strokeWidth": 1.5},
       "encoding": {"x": "@x", "y": {"field": "best", "type": "quantitative"}}},
      {"mark": {"type": "point", "filled": true, "opacity": 0.85, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": "@y", "color": "@colour", "shape": "@shape", "size": "@size"}}
    ]})",
                          figure.conclusion, figure.data, parts);
  for (const base::Json& layer : rule_layers('y', 0, fixed.method, false)) figure.spec["layer"].push_back(layer);
  return figure;
}

// Whether one table is best on both sides; if not, what the best of each side loses on the other.
std::string trade_off(const TuneFile& tune) {
  const auto lowest = [&](double Table::*first, double Table::*then) -> const Table& {
    return *std::min_element(tune.search.begin(), tune.search.end(), [&](const Table& a, const Table& b) {
      return std::pair(a.*first, a.*then) < std::pair(b.*first, b.*then);
    });
  };
  const Table& far = lowest(&Table::beyond, &Table::within);
  const Table& near = lowest(&Table::within, &Table::beyond);
  const Table& tuned = tune.tuned_table();
  const std::string trained = format_context(tune.context_trained);
  const auto in_brackets = [&](const Table& table) {
    const std::optional<std::string> name = name_of(tune, table);
    return name ? fmt::format(" ({})", *name) : "";
  };
  if (&far == &near) {
    return fmt::format("There is no trade-off: one table{} is the lowest of all, within {} tokens and beyond.",
                       in_brackets(far), trained);
  }
  std::string out = fmt::format(
      "There is a trade-off: the table that is lowest beyond {} tokens{} is {:.1f} % higher within them than the one "
      "that is lowest there{}, which is {:.1f} % higher beyond.",
      trained, in_brackets(far), percent(far.within, near.within), in_brackets(near), percent(near.beyond, far.beyond));
  if (&tuned != &far && &tuned != &near) {
    out += fmt::format(" {}, which the search chose, is {:.1f} % above the lowest within and {:.1f} % beyond.",
                       tune.label, percent(tuned.within, near.within), percent(tuned.beyond, far.beyond));
  }
  return out;
}

Figure front_figure(const TuneFile& tune, const std::string& name) {
  const Table& fixed = tune.best_fixed_table();
  const std::string trained = format_context(tune.context_trained);
  Figure figure{.name = name, .title = fmt::format("The front: within {} tokens against beyond", trained)};
  figure.data.columns = {"method", "kind", "within", "beyond", "front", "name"};
  figure.table.header = {"table", "within, %", "beyond, %", "front"};
  std::array<double, 2> low{}, high{};  // within, beyond
  for (const Table& table : tune.search) {
    const std::array<double, 2> at = {percent(table.within, fixed.within), percent(table.beyond, fixed.beyond)};
    for (std::size_t side = 0; side < at.size(); ++side) {
      low[side] = std::min(low[side], at[side]);
      high[side] = std::max(high[side], at[side]);
    }
    const std::optional<std::string> named = name_of(tune, table);
    figure.data.rows.push_back({table.method, kind_of(tune, table), at[0], at[1], std::int64_t{table.front ? 1 : 0},
                                named ? Cell(*named) : Cell()});
    figure.table.rows.push_back(
        {table.method, fmt::format("{:+.2f}", at[0]), fmt::format("{:+.2f}", at[1]), table.front ? "yes" : ""});
  }
  figure.conclusion = trade_off(tune);
  figure.reading = fmt::format(
      "Both in percent against {}, on the tuning texts; left and down is better. The line joins the front: tables that "
      "no other beats on one side without losing on the other. Beyond includes half of -ln p of right answers.",
      fixed.method);
  Parts parts = kind_marks();
  parts.emplace_back("x", percent_axis("within", fmt::format("loss within {}, %", trained), low[0], high[0], 40));
  parts.emplace_back("y", percent_axis("beyond", fmt::format("loss beyond {}, %", trained), low[1], high[1], 24));
  figure.spec = make_spec(R"~({
    "width": "container", "height": 300,
    "layer": [
      {"transform": [{"filter": "datum.front === 1"}],
       "mark": {"type": "line", "color": "#808080", "strokeWidth": 1.5},
       "encoding": {"x": "@x", "y": "@y"}},
      {"mark": {"type": "point", "filled": true, "opacity": 0.85, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": "@y", "color": "@colour", "shape": "@shape", "size": "@size"}},
      {"transform": [{"filter": "isValid(datum.name) && datum.kind === 'published'"}],
       "mark": {"type": "text", "dy": -12, "color": "#808080"},
       "encoding": {"x": "@x", "y": "@y", "text": {"field": "name", "type": "nominal"}}},
      {"transform": [{"filter": "datum.kind === 'best of the search'"}],
       "mark": {"type": "text", "dy": 16, "color": "#D55E00", "fontWeight": "bold"},
       "encoding": {"x": "@x", "y": "@y", "text": {"field": "name", "type": "nominal"}}}
    ]})~",
                          figure.conclusion, figure.data, parts);
  return figure;
}

// Where the table itself is to be seen: records of the verdict carry it.
bool has_table(const Runs& runs, const std::string& label) {
  const auto& rotations = runs.passes.rotations();
  return std::any_of(rotations.begin(), rotations.end(), [&](const eval::Readings::Rotation& r) {
    return runs.passes.plans()[r.plan].method == label && !r.inv_freq.empty();
  });
}

}  // namespace

std::optional<Section> tune_section(const Context& context) {
  if (context.runs.tunes.empty()) return std::nullopt;
  Section section{.name = "tune", .title = "Search", .figures = {}};
  for (std::size_t i = 0; i < context.runs.tunes.size(); ++i) {
    const TuneFile& tune = context.runs.tunes[i];
    const std::string suffix = i == 0 ? "" : fmt::format("-{}", i + 1);
    section.figures.push_back(search_figure(tune, "tune-search" + suffix));
    section.figures.push_back(front_figure(tune, "tune-front" + suffix));
    Figure verdict = verdict_figure(tune, "tune-verdict" + suffix);
    if (verdict.table.rows.empty()) continue;
    if (has_table(context.runs, tune.label)) {
      verdict.reading += fmt::format(" Plans, below, shows what {} does pair by pair, beside the others.", tune.label);
    }
    section.figures.push_back(std::move(verdict));
  }
  return section;
}

}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
//
// What each plan does to the table: the paper's figures 2, 3 and 5 for what was really computed. Records of documents
// carry the angular speeds the engine used; plan files carry theirs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mrrope/analysis.h"
#include "mrrope/radix.h"
#include "mrrope/units.h"
#include "report/curves.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

constexpr std::size_t kPoints = 160;    // of a curve
constexpr std::size_t kTableRows = 33;  // of its table
constexpr std::size_t kMost = 100;      // plans that are drawn: more are a search, and no picture

struct PlanTable {
  eval::PlanName name;
  std::vector<double> inv_freq;
  double attention_scale = 1;
  std::string rotation;
};

struct Tables {
  std::vector<PlanTable> plans;
  std::vector<double> trained;  // angular speeds of the file as it is; empty: nobody says
  std::int64_t context_trained = 0;
  double factor = 1;  // the largest
  bool more = false;  // plans than are here

  [[nodiscard]] std::vector<double> factors(const PlanTable& plan) const {
    std::vector<double> s;
    for (std::size_t i = 0; i < trained.size(); ++i) {
      s.push_back(plan.inv_freq[i] > 0 ? trained[i] / plan.inv_freq[i] : kNoRotation);
    }
    return s;
  }
  [[nodiscard]] std::int64_t target() const {
    return static_cast<std::int64_t>(std::llround(factor * static_cast<double>(context_trained)));
  }
  [[nodiscard]] std::vector<eval::PlanName> names() const {
    std::vector<eval::PlanName> out;
    for (const PlanTable& plan : plans) out.push_back(plan.name);
    return out;
  }
};

Tables tables_of(const Runs& runs) {
  Tables out{.plans = {}, .trained = {}, .context_trained = runs.context_trained()};
  const auto add = [&](PlanTable table) {
    const auto same = [&](const PlanTable& other) { return other.name == table.name; };
    if (table.inv_freq.empty() || std::any_of(out.plans.begin(), out.plans.end(), same)) return;
    if (!out.plans.empty() && out.plans.front().inv_freq.size() != table.inv_freq.size())
      return;  // another model's plan
    out.more = out.plans.size() == kMost;
    if (out.more) return;
    out.factor = std::max(out.factor, table.name.factor);
    out.plans.push_back(std::move(table));
  };
  for (const eval::Readings* readings : {&runs.passes, &runs.gaps}) {
    for (const auto& [plan, rung, inv_freq, scale] : readings->rotations()) {
      if (!rung.empty()) continue;  // a ladder is no table; those of its rungs are plans
      const eval::PlanName& name = readings->plans()[plan];
      if (name.method == "none" && out.trained.empty()) out.trained = inv_freq;
      add({name, inv_freq, scale, eval::rotation_hash(inv_freq, scale)});
    }
  }
  for (const Plan& plan : runs.plans) {
    const GroupPlan& group = plan.groups.front();
    if (out.trained.empty()) out.trained = spectrum_of(plan.spec, 0).inv_freq;
    add({{spell(plan.method), plan.factor},
         group.inv_freq,
         group.attention_scale,
         eval::rotation_hash(group.inv_freq, group.attention_scale)});
  }
  if (!out.plans.empty() && out.trained.size() != out.plans.front().inv_freq.size()) out.trained.clear();
  return out;
}

// Curves of all plans over x: data in long form, a table with a column for each plan.
void fill(Figure& figure, const std::string& x_name, const std::vector<double>& x, const std::string& y_name,
          const Tables& tables, const std::vector<std::vector<double>>& y) {
  figure.data.columns = {"plan", x_name, y_name};
  figure.table.header = {x_name};
  for (std::size_t p = 0; p < y.size(); ++p) {
    figure.table.header.push_back(tables.plans[p].name.text());
    for (std::size_t i = 0; i < y[p].size(); ++i) {
      if (!std::isfinite(y[p][i]) || y[p][i] >= kNoRotation) continue;  // stands still: nothing to draw
      figure.data.rows.push_back({tables.plans[p].name.text(), static_cast<std::int64_t>(x[i]), y[p][i]});
    }
  }
  const std::size_t step = (x.size() + kTableRows - 1) / kTableRows;
  for (std::size_t i = 0; i<x.size(); i += x.size()> 2 * kTableRows ? step : 1) {
    std::vector<std::string> cells = {fmt::format("{:.0f}", x[i])};
    for (const std::vector<double>& curve : y) {
      cells.push_back(i >= curve.size()                                     ? ""
                      : !std::isfinite(curve[i]) || curve[i] >= kNoRotation ? "still"
                                                                            : fmt::format("{:.6g}", curve[i]));
    }
    figure.table.rows.push_back(std::move(cells));
  }
}

base::Json value_axis(const std::string& field, const std::string& title, const char* scale) {
  return base::Json{{"field", field},
                    {"type", "quantitative"},
                    {"title", title},
                    {"scale", base::Json::parse(scale)},
                    {"axis", base::Json{{"tickCount", 6}, {"format", "~s"}}}};
}

base::Json pair_axis() {
  return base::Json::parse(R"~({"field": "pair", "type": "quantitative", "title": "pair (fast to slow)",
    "scale": {"nice": false}, "axis": {"grid": false, "tickMinStep": 1, "format": "~d"}})~");
}

std::vector<double> pairs_of(std::size_t n) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<double>(i));
  return x;
}

Figure scale_figure(const Context& context, const Tables& tables) {
  Figure figure{.name = "plan-scale", .title = "How much each pair is slowed down, s_i"};
  std::vector<std::vector<double>> y;
  for (const PlanTable& plan : tables.plans) y.push_back(tables.factors(plan));
  fill(figure, "pair", pairs_of(tables.trained.size()), "s", tables, y);
  figure.conclusion =
      "Plans differ in the pairs between: fast pairs (left) stay, slow ones (right) get the whole factor.";
  figure.reading =
      "Factor by which the angular speed of each pair is divided; logarithmic. Pairs that stand still are left out.";
  base::Json y_axis = value_axis("s", "s_i", R"({"type": "log", "base": 2})");
  y_axis["axis"] =
      base::Json::parse(R"({"values": [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], "format": "~g"})");
  draw_lines(figure, context, tables.names(), pair_axis(), y_axis, tables.trained.size());
  return figure;
}

Figure lambda_figure(const Context& context, const Tables& tables) {
  Figure figure{.name = "plan-lambda", .title = "Growth of each digit's radix, λ_i"};
  std::vector<std::vector<double>> y;
  std::string kinds;
  for (const PlanTable& plan : tables.plans) {
    const std::vector<double> s = tables.factors(plan);
    y.push_back(radix_factors(s));
    if (plan.name.method == "none") continue;
    kinds += fmt::format("{}{} is {}", kinds.empty() ? "" : "; ", plan.name.text(), describe(classify(s)));
  }
  fill(figure, "pair", pairs_of(tables.trained.size() - 1), "lambda", tables, y);
  figure.conclusion = kinds.empty() ? "Every pair keeps its trained speed." : kinds + ".";
  figure.reading =
      "λ_i = s_(i+1) / s_i. Rising over the band: progressive, fast pairs keep their resolution; level: uniform; "
      "falling: regressive.";
  draw_lines(figure, context, tables.names(), pair_axis(), value_axis("lambda", "λ_i", R"({"zero": false})"),
             tables.trained.size());
  return figure;
}

Figure wavelength_figure(const Context& context, const Tables& tables) {
  Figure figure{.name = "plan-wavelength",
                .title = "Wavelength of each pair against the trained and the target length"};
  std::vector<std::vector<double>> y;
  std::vector<std::string> unseen;
  for (const PlanTable& plan : tables.plans) {
    std::vector<double> wave;
    for (const double speed : plan.inv_freq) wave.push_back(speed > 0 ? 2 * std::numbers::pi / speed : INFINITY);
    y.push_back(std::move(wave));
    if (tables.trained.empty()) continue;
    const Spectrum learned{.context_trained = static_cast<double>(tables.context_trained), .inv_freq = tables.trained};
    const Exposure e = exposure(learned, tables.factors(plan), std::max(1.0, tables.factor));
    if (e.unseen_pairs > 0) unseen.push_back(fmt::format("{} ({} pairs)", plan.name.text(), e.unseen_pairs));
  }
  fill(figure, "pair", pairs_of(tables.plans.front().inv_freq.size()), "wavelength", tables, y);
  const std::string target = format_context(tables.target());
  figure.conclusion =
      tables.trained.empty() ? "Pairs whose wavelength exceeds the trained length never made a whole turn in training."
      : unseen.empty()
          ? fmt::format("At {} tokens no pair of any plan meets an angle that it did not see in training.", target)
          : fmt::format("At {} tokens these meet angles that training never showed: {}.", target, listed(unseen));
  figure.reading =
      "Tokens per turn of each pair; logarithmic. A pair above the trained length has seen only a part of its circle.";
  draw_lines(figure, context, tables.names(), pair_axis(),
             value_axis("wavelength", "tokens per turn", R"({"type": "log"})"), tables.plans.front().inv_freq.size());
  for (const auto& [tokens, word] :
       {std::pair(tables.context_trained, "trained"), std::pair(tables.target(), "target")}) {
    if (tokens <= 0 || (tokens == tables.context_trained && word == std::string("target"))) continue;
    for (base::Json& layer : rule_layers('y', tokens, fmt::format("{} {}", word, format_context(tokens)), true)) {
      figure.spec["layer"].push_back(layer);
    }
  }
  return figure;
}

Figure bound_figure(const Context& context, const Tables& tables) {
  const std::int64_t limit = std::min(kLongestBound, std::max<std::int64_t>(1024, 2 * tables.target()));
  const std::vector<double> x = grid(1, static_cast<double>(limit), kPoints);
  Figure figure{.name = "plan-bound", .title = "How far similar tokens attract each other, B(m)"};
  std::vector<std::vector<double>> y;
  std::string zeros;
  for (const PlanTable& plan : tables.plans) {
    const std::vector<double> curve = smoothed(bound_curve(plan.inv_freq, limit + 256), x);
    const auto zero = std::find_if(curve.begin(), curve.end(), [](double b) { return b <= 0; });
    zeros += fmt::format("{}{} {}", zeros.empty() ? "" : "; ", plan.name.text(),
                         zero == curve.end()
                             ? fmt::format("beyond {}", format_context(limit))
                             : fmt::format("about {:.0f}", x[static_cast<std::size_t>(zero - curve.begin())]));
    y.push_back(curve);
  }
  fill(figure, "distance", x, "B", tables, y);
  figure.conclusion = fmt::format("Where the trend falls to 0: {}.", zeros);
  figure.reading =
      "B(m) = Σ cos(m θ_i), averaged over 512 distances: how much more a query attracts an equal key than a random "
      "one at distance m (Men et al. 2024). Theory, not a measurement.";
  draw_lines(figure, context, tables.names(), token_axis("distance", "distance m, tokens", limit),
             value_axis("B", "B(m), averaged", "{}"), x.size());
  return figure;
}

Figure estimate_figure(const Context& context, const Tables& tables) {
  const std::vector<double> x = grid(0, static_cast<double>(std::max<std::int64_t>(1024, tables.target())), kPoints);
  Figure figure{.name = "plan-position", .title = "The position read back from the angles"};
  std::vector<std::vector<double>> y;
  for (const PlanTable& plan : tables.plans) {
    std::vector<double> curve;
    curve.reserve(x.size());
    for (const double m : x) curve.push_back(position_estimate(plan.inv_freq, m));
    y.push_back(std::move(curve));
  }
  fill(figure, "position", x, "estimate", tables, y);
  figure.conclusion =
      "As far as a line is straight, the plan tells positions apart; where it bends back, positions look alike.";
  figure.reading = "m̂ = Σ w_i (m θ_i mod 2π) with w_i = 1/θ_i (the paper's figure 2). Theory, not a measurement.";
  draw_lines(figure, context, tables.names(),
             token_axis("position", "position m, tokens", static_cast<std::int64_t>(x.back())),
             value_axis("estimate", "m̂", "{}"), x.size());
  return figure;
}

}  // namespace

void draw_lines(Figure& figure, const Context& context, std::span<const eval::PlanName> shown, const base::Json& x,
                const base::Json& y, std::size_t points) {
  const base::Json look = context.look.encodings(shown);
  figure.spec = make_spec(R"({
    "width": "container", "height": 240,
    "layer": [{"mark": {"type": "line", "strokeWidth": 1.8, "clip": true, "tooltip": {"content": "data"}},
               "encoding": {"x": "@x", "y": "@y", "color": "@colour", "strokeDash": "@dash"}},
              "@points"]})",
                          figure.conclusion, figure.data,
                          {{"x", x},
                           {"y", y},
                           {"colour", look["colour"]},
                           {"dash", look["dash"]},
                           {"points", sparse_points(x, y, look, points)}});
}

std::optional<Section> plan_section(const Context& context) {
  const Tables tables = tables_of(context.runs);
  if (tables.plans.empty() || tables.context_trained <= 0) return std::nullopt;
  Section section{.name = "plans", .title = "Plans", .figures = {}};
  if (tables.more) section.title += fmt::format(" (the first {})", kMost);
  if (!tables.trained.empty()) {
    section.figures.push_back(scale_figure(context, tables));
    section.figures.push_back(lambda_figure(context, tables));
  }
  section.figures.push_back(wavelength_figure(context, tables));
  section.figures.push_back(bound_figure(context, tables));
  section.figures.push_back(estimate_figure(context, tables));
  return section;
}

}  // namespace mrrope::report

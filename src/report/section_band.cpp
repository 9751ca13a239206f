// SPDX-License-Identifier: MIT
//
// Perplexity over the edges of the band, the paper's figures 7 and 8. Which pairs a plan leaves alone (up to d_l) and
// which it slows down by the whole factor (from d_h) is read off the table that was computed, so that beta_fast,
// beta_slow, low and high of any method are one axis.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "mrrope/catalogue.h"
#include "mrrope/units.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

constexpr double kSame =
    1e-5;  // engines keep factors as float32; the smallest step of a method is a hundred times that
constexpr std::array<std::string_view, 6> kEdges = {
    ":low=", ":high=", ":beta_fast=", ":beta_slow=", ":low_freq_factor=", ":high_freq_factor="};
constexpr std::size_t kFewest = 3;  // settings that make a curve

struct Setting {
  std::string law;  // "mrrope-pro": what is left of the method without its edges
  eval::PlanName plan;
  int low = 0;
  int high = 0;
  eval::PplRow row;
};

// S of the table. Its own factor may be another than that of the length: mrrope-pro:factor=3 x4.
double table_factor(const eval::PlanName& plan) {
  const Result<Method> method = parse_method(plan.method);
  return method && method->factor ? *method->factor : plan.factor;
}

// The method without its edges: settings that differ in anything else are no curve over an edge.
std::string law_of(const std::string& method) {
  std::string law;
  for (std::size_t at = 0; at < method.size();) {
    const std::size_t end = std::min(method.find_first_of(":+", at + 1), method.size());
    const std::string part = method.substr(at, end - at);
    const bool edge =
        std::any_of(kEdges.begin(), kEdges.end(), [&](std::string_view e) { return part.starts_with(e); });
    if (!edge) law += part;
    at = end;
  }
  return law;
}

// Nothing for a table that has no such edges: linear, ntk, none.
std::optional<std::pair<int, int>> edges(const std::vector<double>& trained, const eval::PlanName& plan,
                                         const std::vector<double>& inv_freq) {
  if (trained.empty() || trained.size() != inv_freq.size()) return std::nullopt;
  const double factor = table_factor(plan);
  if (factor <= 1) return std::nullopt;
  int low = -1;
  int high = -1;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (inv_freq[i] <= 0) continue;
    const double s = trained[i] / inv_freq[i];
    if (std::fabs(s - 1) < kSame && low == static_cast<int>(i) - 1) low = static_cast<int>(i);
    if (high < 0 && std::fabs(s / factor - 1) < kSame) high = static_cast<int>(i);
  }
  if (low < 0 || high <= low) return std::nullopt;
  return std::pair(low, high);
}

std::vector<Setting> settings_of(const Runs& runs) {
  const std::vector<eval::PlanName>& plans = runs.passes.plans();
  std::vector<double> trained;
  std::vector<const eval::Readings::Rotation*> rotations(plans.size());  // the first of each plan
  for (const eval::Readings::Rotation& rotation : runs.passes.rotations()) {
    if (plans[rotation.plan].method == "none") trained = rotation.inv_freq;
    if (rotations[rotation.plan] == nullptr) rotations[rotation.plan] = &rotation;
  }
  std::int64_t longest = 0;
  for (const eval::PplRow& row : runs.passes.rows()) longest = std::max(longest, row.length);
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const eval::PplRow* row = runs.passes.row(plans[i], longest);
    if (row == nullptr || !rotations[i]->rung.empty()) continue;  // a ladder has the edges of each of its rungs
    const auto found = edges(trained, plans[i], rotations[i]->inv_freq);
    if (found) settings.push_back({law_of(row->method), plans[i], found->first, found->second, *row});
  }
  return settings;
}

// Settings that share the other edge, the edge most of them share; nothing if they are too few for a curve.
std::optional<Figure> edge_figure(const Context& context, const std::vector<Setting>& settings, bool vary_high) {
  const auto fixed = [&](const Setting& s) { return vary_high ? s.low : s.high; };
  const auto varied = [&](const Setting& s) { return vary_high ? s.high : s.low; };
  std::map<int, std::size_t> counts;
  for (const Setting& s : settings) ++counts[fixed(s)];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<Setting> shown;
  for (const Setting& s : settings) {
    if (fixed(s) == most->first) shown.push_back(s);
  }
  std::sort(shown.begin(), shown.end(), [&](const Setting& a, const Setting& b) {
    return std::pair(a.law, varied(a)) < std::pair(b.law, varied(b));
  });
  std::map<std::string, std::vector<const Setting*>> laws;
  for (const Setting& s : shown) laws[s.law].push_back(&s);
  std::erase_if(laws, [&](const auto& law) {
    return law.second.size() < kFewest || varied(*law.second.front()) == varied(*law.second.back());
  });
  if (laws.empty()) return std::nullopt;

  const std::string name = vary_high ? "d_h" : "d_l";
  const std::string other = vary_high ? "d_l" : "d_h";
  const std::string length = format_context(shown.front().row.length);
  Figure figure{.name = vary_high ? "band-high" : "band-low",
                .title = fmt::format("Perplexity at {} over {}, {} = {}", length, name, other, most->first)};
  figure.data.columns = {"law", "plan", name, other, "length", "ppl", "stderr"};
  figure.table.header = {"plan", "d_l", "d_h", "perplexity at " + length};
  std::vector<std::string> words;
  std::vector<eval::PlanName> families;
  for (const auto& [law, points] : laws) {
    const Setting* best = points.front();
    const Setting* worst = points.front();
    for (const Setting* s : points) {
      figure.data.rows.push_back({law, s->plan.text(), static_cast<std::int64_t>(varied(*s)),
                                  static_cast<std::int64_t>(most->first), s->row.length, s->row.ppl,
                                  s->row.stderr_ppl});
      figure.table.rows.push_back({s->plan.text(), std::to_string(s->low), std::to_string(s->high),
                                   fmt::format("{} ± {}", ppl_text(s->row.ppl), ppl_text(s->row.stderr_ppl))});
      if (s->row.ppl < best->row.ppl) best = s;
      if (s->row.ppl > worst->row.ppl) worst = s;
    }
    const eval::Comparison c = context.runs.passes.compare(worst->plan, best->plan, best->row.length);
    words.push_back(fmt::format("{} is lowest at {} = {} ({}); its worst, {}, against that: {}", law, name,
                                varied(*best), ppl_text(best->row.ppl), varied(*worst), c.verdict()));
  }
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : "; ") + word;
  figure.conclusion = all + ".";
  figure.reading =
      fmt::format("{} Lower is better; differences are judged text by text, and the table has the spread over texts.",
                  vary_high ? "d_h: the first pair that is slowed down by the whole factor."
                            : "d_l: the last pair that is left alone.");
  figure.spec = make_spec(
      R"({
    "width": "container", "height": 240,
    "layer": [
      {"mark": {"type": "line", "strokeWidth": 2},
       "encoding": {"x": "@x", "y": {"field": "ppl", "type": "quantitative", "title": "perplexity", "scale": {"zero": false}}, "color": "@colour", "strokeDash": "@dash"}},
      {"mark": {"type": "point", "size": 55, "filled": true, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": {"field": "ppl", "type": "quantitative"}, "color": "@colour", "shape": "@shape"}}
    ]})",
      figure.conclusion, figure.data,
      {{"x", base::Json{{"field", name},
                        {"type", "quantitative"},
                        {"title", name + ", pair"},
                        {"scale", base::Json{{"zero", false}, {"padding", 12}}},
                        {"axis", base::Json{{"grid", false}, {"tickMinStep", 1}}}}},
       {"colour",
        base::Json::parse(
            R"({"field": "law", "type": "nominal", "title": null, "legend": {"symbolOpacity": 1}, "scale": {"range": ["#D55E00", "#0072B2", "#009E73", "#CC79A7"]}})")},
       {"dash",
        base::Json::parse(R"({"field": "law", "type": "nominal", "title": null, "legend": {"symbolOpacity": 1}})")},
       {"shape",
        base::Json::parse(R"({"field": "law", "type": "nominal", "title": null, "legend": {"symbolOpacity": 1}})")}});
  return figure;
}

}  // namespace

std::optional<Section> band_section(const Context& context) {
  const std::vector<Setting> settings = settings_of(context.runs);
  if (settings.size() < kFewest) return std::nullopt;
  Section section{.name = "band", .title = "Edges of the band", .figures = {}};
  for (const bool vary_high : {true, false}) {
    if (auto figure = edge_figure(context, settings, vary_high)) section.figures.push_back(*std::move(figure));
  }
  if (section.figures.empty()) return std::nullopt;
  return section;
}

}  // namespace mrrope::report

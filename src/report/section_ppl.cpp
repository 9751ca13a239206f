// SPDX-License-Identifier: MIT
//
// Perplexity against length, and in pairs against the baseline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "mrrope/units.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

// What differs between ppl runs and gap runs.
struct Kind {
  std::string name;  // of files
  std::string title;
  std::string axis;
  bool gap = false;
};
const Kind kPpl{"ppl", "Perplexity by length", "tokens of text"};
const Kind kGap{"gap", "Perplexity by distance, without long texts", "added distance, tokens", true};

// Of plans: nobody needs the file as it is where it is broken, and mrrope tune reads it only as far as it was trained.
std::int64_t judged_length(const std::vector<eval::PplRow>& rows) {
  std::vector<std::int64_t> measured;
  for (const eval::PplRow& row : rows) {
    if (row.method != "none") measured.push_back(row.length);
  }
  return measured.empty() ? rows.back().length : common_length(measured);
}

std::vector<std::int64_t> lengths_of(const std::vector<eval::PplRow>& rows) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(rows.size());
  for (const eval::PplRow& row : rows) lengths.push_back(row.length);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

struct Band {
  double low = 0, high = 0;
};

// 95 % around ppl: of the difference to the baseline, text by text, so that a plan differs where its band leaves the
// baseline's line. Texts differ far more than plans do: their own spread would fill the picture and say nothing about
// plans. Nothing for the baseline, and for two texts, whose t is 12.7.
std::optional<Band> band_of(const eval::Readings& readings, const eval::PplRow& row, const eval::PlanName& base) {
  const eval::PlanName plan{row.method, row.factor};
  if (plan == base) return std::nullopt;
  const eval::Comparison c = readings.compare(plan, base, row.length);
  if (c.documents == 0 || c.documents == 2) return std::nullopt;
  if (!std::isfinite(c.ratio_high) || c.ratio_low <= 0) return std::nullopt;
  return Band{row.ppl * c.ratio_low / c.ratio, row.ppl * c.ratio_high / c.ratio};
}

std::string texts_word(std::size_t n) { return fmt::format("{} text{}", n, n == 1 ? "" : "s"); }

// The lowest at a length of those with most texts, and how the others stand to it on the texts that both have: those
// that are tied with it, those of which too few texts were read, those that are lower there, those that share none. The
// rest are higher.
struct Best {
  eval::PlanName plan;
  const eval::PplRow* row = nullptr;
  std::vector<std::string> tied, few, lower, apart;  // few: texts, to tell
};
Best best_at(const eval::Readings& readings, std::int64_t length) {
  Best best;
  for (const eval::PlanName& plan : readings.plans()) {
    const eval::PplRow* row = readings.row(plan, length);
    if (row == nullptr) continue;
    const bool better = best.row == nullptr || row->documents > best.row->documents ||
                        (row->documents == best.row->documents && row->ppl < best.row->ppl);
    if (better) best = {plan, row, {}, {}, {}, {}};
  }
  for (const eval::PlanName& plan : readings.plans()) {
    if (plan == best.plan || readings.row(plan, length) == nullptr) continue;
    const eval::Comparison c = readings.compare(plan, best.plan, length);
    if (c.documents == 0) best.apart.push_back(plan.text());
    else if (c.too_few()) best.few.push_back(plan.text());
    else if (!c.differs) best.tied.push_back(plan.text());
    else if (c.ratio < 1) best.lower.push_back(plan.text());
  }
  return best;
}

std::string best_sentence(const Best& best, std::int64_t length, std::size_t plans, const Kind& kind) {
  const std::string at = (kind.gap ? "+" : "") + format_context(length);
  if (plans == 1) return fmt::format("{} has perplexity {} at {}.", best.plan.text(), ppl_text(best.row->ppl), at);
  std::string text =
      fmt::format("{} has the lowest perplexity at {}: {}.", best.plan.text(), at, ppl_text(best.row->ppl));
  if (!best.tied.empty()) {
    text += fmt::format(" Paired over {}, it is tied with {}.", texts_word(best.row->documents), listed(best.tied));
  }
  if (!best.few.empty()) {
    text += fmt::format(" {} cannot tell it from {}.", texts_word(best.row->documents), listed(best.few));
  }
  if (!best.lower.empty()) text += fmt::format(" On the texts that both have, {} lower.", listed_are(best.lower));
  if (!best.apart.empty()) text += fmt::format(" Of {} other texts were measured.", listed(best.apart));
  if (best.tied.empty() && best.few.empty() && best.lower.empty() && best.apart.empty()) {
    text += " Every other plan is higher, beyond the 95 % interval.";
  }
  return text;
}

Figure curve_figure(const Context& context, const eval::Readings& readings, const Kind& kind) {
  const std::vector<eval::PplRow>& rows = readings.rows();
  const std::vector<eval::PlanName>& plans = readings.plans();
  const std::vector<std::int64_t> lengths = lengths_of(rows);
  const eval::PlanName base = baseline_of(context, plans);
  Figure figure{.name = kind.name, .title = kind.title};
  figure.data.columns = {"plan", "length", "ppl", "low", "high", "stderr", "documents", "last_2k"};
  figure.table.header = {"plan"};
  for (const std::int64_t length : lengths)
    figure.table.header.push_back((kind.gap ? "+" : "") + format_context(length));
  std::size_t documents = 0;
  for (const eval::PlanName& plan : plans) {
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : lengths) {
      const eval::PplRow* row = readings.row(plan, length);
      if (row == nullptr) {
        cells.emplace_back("-");
        continue;
      }
      const std::optional<Band> band = band_of(readings, *row, base);
      figure.data.rows.push_back(
          {plan.text(), length, row->ppl, band ? Cell(band->low) : Cell(), band ? Cell(band->high) : Cell(),
           row->stderr_ppl, static_cast<std::int64_t>(row->documents), row->last_ppl ? Cell(*row->last_ppl) : Cell()});
      cells.push_back(fmt::format("{} ± {}", ppl_text(row->ppl), ppl_text(row->stderr_ppl)));
      documents = std::max(documents, row->documents);
    }
    figure.table.rows.push_back(std::move(cells));
  }

  double low = rows.front().ppl;
  double high = low;
  for (const eval::PplRow& row : rows) {
    low = std::min(low, row.ppl);
    high = std::max(high, row.ppl);
  }
  const bool log_scale = high > 2 * low;
  const base::Json look = context.look.encodings(plans);
  base::Json x = length_axis(lengths, kind.axis);
  if (kind.gap) {  // begins at 0
    x["scale"] = base::Json{{"nice", false}, {"padding", 12}};
    x["axis"].erase("values");
  }
  base::Json y_scale{{"type", log_scale ? "log" : "linear"},
                     {"nice", !log_scale},
                     {"domain", {rounded(low * 0.97), rounded(high * 1.03)}}};
  if (!log_scale) y_scale["zero"] = false;
  const std::int64_t judged = judged_length(rows);
  figure.conclusion = best_sentence(best_at(readings, judged), judged, plans.size(), kind);
  figure.reading = fmt::format(
      "{} over {}; lower is better{}. {}",
      kind.gap ? "Perplexity of the last segment" : "Perplexity of the first N tokens", texts_word(documents),
      log_scale ? "; logarithmic" : "",
      plans.size() == 1 ? "The table has the spread over texts."
      : documents == 2
          ? "Two texts are too few for bands."
          : fmt::format("Bands: 95 % of the difference to {}, text by text; a plan differs where its band leaves "
                        "that line.",
                        base.text()));
  figure.spec = make_spec(
      R"({
    "width": "container", "height": 300,
    "layer": [
      {"mark": {"type": "area", "opacity": 0.13, "clip": true, "tooltip": false},
       "encoding": {"x": "@x", "y": {"field": "low", "type": "quantitative", "title": "perplexity", "scale": "@y", "axis": {"tickCount": 6}},
                    "y2": {"field": "high"}, "color": "@colour"}},
      {"mark": {"type": "line", "strokeWidth": 2},
       "encoding": {"x": "@x", "y": {"field": "ppl", "type": "quantitative"}, "color": "@colour", "strokeDash": "@dash"}},
      {"mark": {"type": "point", "size": 50, "filled": true, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": {"field": "ppl", "type": "quantitative"}, "color": "@colour", "shape": "@shape"}}
    ]})",
      figure.conclusion, figure.data,
      {{"x", x}, {"y", y_scale}, {"colour", look["colour"]}, {"dash", look["dash"]}, {"shape", look["shape"]}});
  if (!kind.gap) {
    for (base::Json& layer : trained_layers(context.runs.context_trained(), lengths))
      figure.spec["layer"].push_back(layer);
  }
  return figure;
}

std::optional<Figure> paired_figure(const Context& context, const eval::Readings& readings, const Kind& kind) {
  const std::vector<eval::PlanName>& plans = readings.plans();
  if (plans.size() < 2) return std::nullopt;
  const std::vector<eval::PplRow>& rows = readings.rows();
  const std::vector<std::int64_t> lengths = lengths_of(rows);
  const std::int64_t judged = judged_length(rows);
  const eval::PlanName base = baseline_of(context, plans);
  Figure figure{.name = kind.name + "-paired", .title = "The same, text by text against " + base.text()};
  figure.data.columns = {"plan", "length", "percent", "low", "high", "verdict", "documents"};
  figure.table.header = {"against " + base.text()};
  for (const std::int64_t length : lengths)
    figure.table.header.push_back((kind.gap ? "+" : "") + format_context(length));
  std::vector<eval::PlanName> shown;
  std::vector<std::string> sentences;
  double lowest = 0;
  double highest = 0;
  for (const eval::PlanName& plan : plans) {
    if (plan == base) continue;
    shown.push_back(plan);
    std::vector<std::string> cells = {plan.text()};
    for (const std::int64_t length : lengths) {
      const eval::Comparison c = readings.compare(plan, base, length);
      cells.push_back(c.cell());
      if (c.documents == 0) continue;
      const auto percent = [](double ratio) { return std::isfinite(ratio) ? Cell(100 * (ratio - 1)) : Cell(); };
      figure.data.rows.push_back({plan.text(), length, percent(c.ratio), percent(c.ratio_low), percent(c.ratio_high),
                                  std::string(c.too_few()   ? "too few"
                                              : !c.differs  ? "tied"
                                              : c.ratio < 1 ? "lower"
                                                            : "higher"),
                                  static_cast<std::int64_t>(c.documents)});
      if (std::isfinite(c.ratio_high)) {
        lowest = std::min(lowest, 100 * (c.ratio_low - 1));
        highest = std::max(highest, 100 * (c.ratio_high - 1));
      }
      if (length == judged) sentences.push_back(fmt::format("{} {}", plan.text(), c.verdict(base.text())));
    }
    figure.table.rows.push_back(std::move(cells));
  }
  if (figure.data.rows.empty()) return std::nullopt;
  std::string all;
  for (const std::string& sentence : sentences) all += (all.empty() ? "" : "; ") + sentence;
  figure.conclusion =
      fmt::format("At {}{} against {}: {}.", kind.gap ? "+" : "", format_context(judged), base.text(), all);
  figure.reading =
      "Difference of perplexity in percent, taken text by text, with 95 % intervals; below 0 is better. Filled, and * "
      "in the table: "
      "0 lies outside the interval.";
  const base::Json look = context.look.encodings(shown);
  const base::Json percent = percent_scale(lowest, highest);
  base::Json x = length_axis(lengths, kind.axis);
  if (kind.gap) {
    x["scale"] = base::Json{{"nice", false}, {"padding", 12}};
    x["axis"].erase("values");
  }
  figure.spec = make_spec(R"({
    "width": "container", "height": 260,
    "layer": [
      {"data": {"values": [{}]}, "mark": {"type": "rule", "color": "#808080"},
       "encoding": {"y": {"datum": 0}}},
      {"mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7},
       "encoding": {"x": "@x", "y": {"field": "low", "type": "quantitative", "title": "perplexity, % difference",
                                     "scale": "@scale", "axis": "@axis"},
                    "y2": {"field": "high"}, "color": "@colour"}},
      {"mark": {"type": "line", "strokeWidth": 1.5},
       "encoding": {"x": "@x", "y": {"field": "percent", "type": "quantitative"}, "color": "@colour", "strokeDash": "@dash"}},
      {"mark": {"type": "point", "size": 60, "tooltip": {"content": "data"}},
       "encoding": {"x": "@x", "y": {"field": "percent", "type": "quantitative"}, "color": "@colour", "shape": "@shape",
                    "fill": "@colour",
                    "fillOpacity": {"condition": {"test": "datum.verdict === 'tied' || datum.verdict === 'too few'", "value": 0}, "value": 1}}}
    ]})",
                          figure.conclusion, figure.data,
                          {{"x", x},
                           {"scale", percent["scale"]},
                           {"axis", percent["axis"]},
                           {"colour", look["colour"]},
                           {"dash", look["dash"]},
                           {"shape", look["shape"]}});
  return figure;
}

std::optional<Section> curve_section(const Context& context, const eval::Readings& readings, const Kind& kind) {
  if (readings.rows().empty()) return std::nullopt;
  Section section{.name = kind.name, .title = kind.gap ? "Distance" : "Perplexity", .figures = {}};
  section.figures.push_back(curve_figure(context, readings, kind));
  if (auto figure = paired_figure(context, readings, kind)) section.figures.push_back(*std::move(figure));
  return section;
}

}  // namespace

std::int64_t common_length(const std::vector<std::int64_t>& measured) {
  std::map<std::int64_t, std::size_t> counts;
  for (const std::int64_t length : measured) ++counts[length];
  std::pair<std::size_t, std::int64_t> best;
  for (const auto& [length, count] : counts) best = std::max(best, {count, length});
  return best.second;
}

eval::PlanName baseline_of(const Context& context, const std::vector<eval::PlanName>& plans) {
  const Result<eval::PlanName> wanted = choose_baseline(plans, context.baseline);
  return wanted ? *wanted : *choose_baseline(plans);
}

std::optional<Section> ppl_section(const Context& context) {
  std::optional<Section> section = curve_section(context, context.runs.passes, kPpl);
  if (!section) return std::nullopt;
  if (auto figure = position_figure(context)) section->figures.push_back(*std::move(figure));
  if (auto figure = short_figure(context)) section->figures.push_back(*std::move(figure));
  return section;
}

std::optional<Section> gap_section(const Context& context) { return curve_section(context, context.runs.gaps, kGap); }

std::vector<std::string> ppl_verdict(const Context& context) {
  const eval::Readings& readings = context.runs.passes;
  const std::vector<eval::PplRow>& rows = readings.rows();
  if (rows.empty()) return {};
  const std::vector<std::int64_t> lengths = lengths_of(rows);
  std::vector<std::string> out;
  const std::int64_t judged = judged_length(rows);
  out.push_back(best_sentence(best_at(readings, judged), judged, readings.plans().size(), kPpl));

  // What happens to the file as it is
  const std::int64_t trained = context.runs.context_trained();
  const eval::PlanName plain{"none", 1};
  const eval::PplRow* last = readings.row(plain, lengths.back());
  const eval::PplRow* within = nullptr;
  for (const std::int64_t length : lengths) {
    if (length <= trained && readings.row(plain, length) != nullptr) within = readings.row(plain, length);
  }
  if (last != nullptr && within != nullptr && last->length > trained) {
    constexpr double kBroken = 1.1;  // texts alone change perplexity by a few percent between lengths
    out.push_back(
        last->ppl > kBroken * within->ppl
            ? fmt::format("The file as it is (none) breaks beyond its trained {} tokens: {} at {}, after {} at {}.",
                          format_context(trained), ppl_text(last->ppl), format_context(last->length),
                          ppl_text(within->ppl), format_context(within->length))
            : fmt::format("The file as it is (none) still holds at {}: {}, after {} at {}.",
                          format_context(last->length), ppl_text(last->ppl), ppl_text(within->ppl),
                          format_context(within->length)));
  }
  if (const auto cost = short_figure(context)) out.push_back(cost->conclusion);
  return out;
}

}  // namespace mrrope::report

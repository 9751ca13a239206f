// SPDX-License-Identifier: MIT
//
// What the pairs of the band add to attention scores, by distance: the paper's figure 6 (docs/attention.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mrrope/units.h"
#include "report/sections.h"

namespace mrrope::report {

namespace {

constexpr std::size_t kMost = 100000;  // numbers of one list; what analyze writes has 200

Error expected(const std::string& what, const std::string& where) {
  return {ErrorCode::malformed, "expected " + what, where};
}

Result<std::vector<double>> numbers(const base::Json& object, const std::string& key, std::size_t count) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() > kMost || (count > 0 && found->size() != count)) {
    return expected("a list with a number for each distance", key);
  }
  std::vector<double> out;
  for (const base::Json& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) return expected("numbers", key);
    out.push_back(value.get<double>());
  }
  return out;
}

std::optional<std::int64_t> whole(const base::Json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string text_in(const base::Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<AttentionFile::Curve> read_curve(const base::Json& json, std::size_t count) {
  if (!json.is_object() || text_in(json, "method").empty()) return expected("a method", "methods");
  const auto factor = json.find("factor");
  if (factor == json.end() || !factor->is_number()) return expected("a number", "methods.factor");
  AttentionFile::Curve curve{
      .plan = {text_in(json, "method"), factor->get<double>()}, .mean = {}, .lower = {}, .upper = {}};
  for (const auto& [key, list] : {std::pair{"mean", &curve.mean}, {"lower", &curve.lower}, {"upper", &curve.upper}}) {
    Result<std::vector<double>> values = numbers(json, key, count);
    if (!values) return values.error();
    *list = *std::move(values);
  }
  return curve;
}

// The first distance at which the mean is half of what it is at the first one; 0: never.
double half_at(const AttentionFile& file, const AttentionFile::Curve& curve) {
  for (std::size_t i = 0; i < curve.mean.size(); ++i) {
    if (curve.mean[i] <= curve.mean.front() / 2) return file.distances[i];
  }
  return 0;
}

Figure figure_of(const Context& context, const AttentionFile& file, const std::string& name) {
  Figure figure{.name = name,
                .title = fmt::format("Part of attention scores that pairs {} to {} make", file.first, file.last)};
  figure.data.columns = {"plan", "distance", "mean", "lower", "upper"};
  figure.table.header = {"plan", "mean at distance 1", "half of that at"};
  std::vector<eval::PlanName> shown;
  std::vector<std::string> words;
  for (const AttentionFile::Curve& curve : file.curves) {
    shown.push_back(curve.plan);
    for (std::size_t i = 0; i < file.distances.size(); ++i) {
      figure.data.rows.push_back({curve.plan.text(), static_cast<std::int64_t>(file.distances[i]), curve.mean[i],
                                  curve.lower[i], curve.upper[i]});
    }
    const double half = half_at(file, curve);
    const std::string at = half > 0 ? fmt::format("{:.0f} tokens", half) : "no distance";
    figure.table.rows.push_back({curve.plan.text(), fmt::format("{:.2f}", curve.mean.front()), at});
    words.push_back(fmt::format("{} at {}", curve.plan.text(), at));
  }
  figure.conclusion = fmt::format("The mean falls to half of its start: {}.", listed(words));
  figure.reading = fmt::format(
      "Mean over {} pairs of a query and a key of {}, set apart by the distance; distances are logarithmic. Quartiles "
      "of "
      "single pairs are in the table of numbers.",
      file.samples, file.text);
  const base::Json x = base::Json::parse(
      R"({"field": "distance", "type": "quantitative", "title": "distance, tokens", "scale": {"type": "log", "base": 2}, "axis": {"grid": false, "format": "~s"}})");
  const base::Json y = base::Json::parse(R"({"field": "mean", "type": "quantitative", "title": "mean score"})");
  draw_lines(figure, context, shown, x, y, file.distances.size());
  return figure;
}

}  // namespace

Result<AttentionFile> read_attention(const base::Json& json) {
  AttentionFile out;
  const auto text = json.find("text");
  const auto pairs = json.find("pairs");
  const auto methods = json.find("methods");
  if (text == json.end() || !text->is_object()) return expected("an object", "text");
  if (pairs == json.end() || !pairs->is_object()) return expected("an object", "pairs");
  if (methods == json.end() || !methods->is_array() || methods->empty() || methods->size() > 100) {
    return expected("1 to 100 methods", "methods");
  }
  out.text = text_in(*text, "name");
  const auto samples = whole(json, "samples");
  if (!samples) return expected("a whole number", "samples");
  out.samples = *samples;
  for (const auto& [key, place] : {std::pair{"first", &out.first}, {"last", &out.last}}) {
    const auto value = pairs->find(key);
    if (value == pairs->end() || !value->is_number()) return expected("a number", std::string("pairs.") + key);
    *place = static_cast<int>(std::clamp(value->get<double>(), 0.0, 1e6));
  }
  Result<std::vector<double>> distances = numbers(json, "distances", 0);
  if (!distances) return distances.error();
  out.distances = *std::move(distances);
  const bool ascending = std::is_sorted(out.distances.begin(), out.distances.end());
  if (out.distances.empty() || !ascending || out.distances.front() < 1 || out.distances.back() > 0x1p53) {
    return expected("ascending distances from 1 on", "distances");
  }
  for (const base::Json& method : *methods) {
    Result<AttentionFile::Curve> curve = read_curve(method, out.distances.size());
    if (!curve) return curve.error();
    out.curves.push_back(*std::move(curve));
  }
  return out;
}

std::optional<Section> attention_section(const Context& context) {
  if (context.runs.attention.empty()) return std::nullopt;
  Section section{.name = "attention", .title = "Attention", .figures = {}};
  for (std::size_t i = 0; i < context.runs.attention.size(); ++i) {
    const std::string name = i == 0 ? "attention" : fmt::format("attention-{}", i + 1);
    section.figures.push_back(figure_of(context, context.runs.attention[i], name));
  }
  return section;
}

}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
#include "report/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "mrrope/units.h"

namespace mrrope::report {

namespace {

using base::Json;

// Okabe and Ito without black and yellow, which one of the two backgrounds swallows.
constexpr std::array<std::string_view, 6> kColours = {"#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};
constexpr std::string_view kPlain = "#808080";
constexpr std::array<std::string_view, 8> kShapes = {"circle", "square",        "triangle-up",    "diamond",
                                                     "cross",  "triangle-down", "triangle-right", "triangle-left"};
constexpr std::array<std::string_view, 7> kDashes = {"[1,0]",     "[7,3]",  "[3,2]",    "[9,3,2,3]",
                                                     "[5,2,1,2]", "[12,3]", "[2,3,8,3]"};

void replace_parts(Json& value, const Parts& parts) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!text.starts_with('@')) return;
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return text.substr(1) == p.first; });
    assert(part != parts.end());
    value = Json(part->second);
    return;
  }
  if (value.is_structured()) {
    for (Json& child : value) replace_parts(child, parts);
  }
}

}  // namespace

base::Json Look::encodings(std::span<const PlanName> shown) const {
  Json names = Json::array();
  Json colours = Json::array();
  Json dashes = Json::array();
  Json shapes = Json::array();
  for (const PlanName& plan : shown) {
    // Its place among all plans that are not "none"
    std::size_t rank = 0;
    for (const PlanName& other : plans_) {
      if (other == plan) break;
      if (other.method != "none") ++rank;
    }
    names.push_back(plan.text());
    const bool plain = plan.method == "none";
    colours.push_back(plain ? kPlain : kColours[rank % kColours.size()]);
    dashes.push_back(Json::parse(plain ? "[2,2]" : kDashes[rank % kDashes.size()]));
    shapes.push_back(plain ? "stroke" : kShapes[rank % kShapes.size()]);
  }
  const auto encoding = [&](Json range) {
    return Json{{"field", "plan"},
                {"type", "nominal"},
                {"title", nullptr},
                {"scale", Json{{"domain", names}, {"range", std::move(range)}}}};
  };
  return Json{{"colour", encoding(colours)}, {"dash", encoding(dashes)}, {"shape", encoding(shapes)}};
}

base::Json make_spec(std::string_view text, const std::string& description, const Sheet& data, const Parts& parts) {
  Json body = Json::parse(text);
  replace_parts(body, parts);
  Json spec{{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"}, {"description", description}};
  spec["data"] = Json{{"values", values_of(data)}};
  spec.update(body);
  return spec;
}

base::Json length_axis(std::span<const std::int64_t> lengths, const std::string& title) {
  return Json{{"field", "length"},
              {"type", "quantitative"},
              {"title", title},
              {"scale", Json{{"type", "log"},
                             {"base", 2},
                             {"nice", false},
                             {"domain", {lengths.front(), lengths.back()}},
                             {"padding", 12}}},
              {"axis", Json{{"values", std::vector<std::int64_t>(lengths.begin(), lengths.end())},
                            {"grid", false},
                            {"labelExpr",
                             "datum.value < 1024 ? format(datum.value, '~d') : datum.value < 1048576 ? "
                             "format(datum.value / 1024, '~r') + 'k' : format(datum.value / 1048576, '~r') + 'M'"}}}};
}

base::Json rule_layers(char axis, std::int64_t at, const std::string& word, bool after) {
  const Json once{{"values", Json::array({Json::object()})}};  // not one mark for every row of the picture
  const std::string channel(1, axis);
  const Json place{{"datum", at}};
  const Json rule{{"type", "rule"}, {"strokeDash", {4, 4}}, {"color", "#808080"}};
  Json text{{"type", "text"}, {"color", "#808080"}, {"align", after ? "left" : "right"}};
  if (axis == 'x') {
    text.update(Json{{"dx", after ? 4 : -4}, {"y", 2}, {"baseline", "top"}});
  } else {
    text.update(Json{{"x", 4}, {"dy", -6}});
  }
  return Json::array(
      {Json{{"data", once}, {"mark", rule}, {"encoding", Json{{channel, place}}}},
       Json{{"data", once}, {"mark", text}, {"encoding", Json{{channel, place}, {"text", Json{{"value", word}}}}}}});
}

base::Json trained_layers(std::int64_t trained, std::span<const std::int64_t> lengths) {
  if (lengths.empty() || trained < lengths.front() || trained > lengths.back()) return Json::array();
  // The word stands where there is room: after the rule unless that is the end of the axis
  return rule_layers('x', trained, "trained " + format_context(trained), trained < lengths.back());
}

std::string ppl_text(double ppl) { return ppl < 1000 ? fmt::format("{:.3f}", ppl) : fmt::format("{:.0f}", ppl); }

std::string listed(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

std::string capital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 32);
  return text;
}

}  // namespace mrrope::report

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
constexpr std::array<std::string_view, 7> kShapes = {"circle",        "square",         "triangle-up",  "diamond",
                                                     "triangle-down", "triangle-right", "triangle-left"};
constexpr std::array<std::string_view, 7> kDashes = {"[1,0]",     "[7,3]",  "[3,2]",    "[9,3,2,3]",
                                                     "[5,2,1,2]", "[12,3]", "[2,3,8,3]"};

constexpr std::string_view kTokens =
    "datum.value < 1024 ? format(datum.value, '~d') : datum.value < 1048576 ? format(datum.value / 1024, '~r') + 'k' : "
    "format(datum.value / 1048576, '~r') + 'M'";

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

base::Json Look::encodings(std::span<const eval::PlanName> shown) const {
  Json names = Json::array();
  Json colours = Json::array();
  Json dashes = Json::array();
  Json shapes = Json::array();
  for (const eval::PlanName& plan : shown) {
    // Its place among all plans that are not "none"
    std::size_t rank = 0;
    for (const eval::PlanName& other : plans_) {
      if (other == plan) break;
      if (other.method != "none") ++rank;
    }
    names.push_back(plan.text());
    const bool plain = plan.method == "none";
    colours.push_back(plain ? kPlain : kColours[rank % kColours.size()]);
    dashes.push_back(Json::parse(plain ? "[2,2]" : kDashes[rank % kDashes.size()]));
    shapes.push_back(plain ? "cross" : kShapes[rank % kShapes.size()]);
  }
  const auto encoding = [&](Json range) {
    return Json{{"field", "plan"},
                {"type", "nominal"},
                {"title", nullptr},
                {"scale", Json{{"domain", names}, {"range", std::move(range)}}},
                {"legend", Json{{"symbolOpacity", 1}}}};
  };
  return Json{{"colour", encoding(colours)}, {"dash", encoding(dashes)}, {"shape", encoding(shapes)}};
}

base::Json make_spec(std::string_view text, const std::string& description, const Sheet& data, const Parts& parts) {
  Json body = Json::parse(text);
  replace_parts(body, parts);
  Json spec{{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
            {"usermeta", Json{{"generator", "mrrope"}}},  // which Vega-Lite leaves to us
            {"description", description}};
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
                            {"labelExpr", kTokens}}}};
}

base::Json token_axis(const std::string& field, const std::string& title, std::int64_t last) {
  // Whole multiples of a power of two, eight of them at most
  std::int64_t step = 1;
  while (last / step > 8) step *= 2;
  Json values = Json::array();
  for (std::int64_t tick = 0; tick <= last; tick += step) values.push_back(tick);
  return Json{{"field", field},
              {"type", "quantitative"},
              {"title", title},
              {"scale", Json{{"nice", false}, {"domain", {0, last}}}},
              {"axis", Json{{"values", values}, {"grid", false}, {"labelExpr", kTokens}}}};
}

base::Json percent_scale(double low, double high, double few) {
  if (low >= -few && high <= few) return Json{{"scale", Json{{"nice", true}}}, {"axis", Json{{"tickCount", 6}}}};
  return Json{{"scale", Json{{"type", "symlog"}, {"constant", 2}, {"nice", false}}},
              {"axis", Json{{"values", {-50, -20, -10, -5, -2, 0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000}}}}};
}

base::Json sparse_points(const Json& x, const Json& y, const Json& look, std::size_t rows) {
  const std::size_t step = std::max<std::size_t>(1, rows / 8);
  return Json{{"transform", Json::array({Json{{"window", Json::array({Json{{"op", "row_number"}, {"as", "row"}}})},
                                              {"groupby", Json::array({"plan"})}},
                                         Json{{"filter", fmt::format("datum.row % {} === {}", step, step / 2)}}})},
              {"mark", Json{{"type", "point"}, {"filled", true}, {"size", 45}}},
              {"encoding", Json{{"x", x}, {"y", y}, {"color", look["colour"]}, {"shape", look["shape"]}}}};
}

base::Json rule_layers(char axis, std::int64_t at, const std::string& word, bool after) {
  const Json once{{"values", Json::array({Json::object()})}};  // not one mark for every row of the picture
  const std::string channel(1, axis);
  const Json place{{"datum", at}};
  const Json rule{{"type", "rule"}, {"strokeDash", {4, 4}}, {"color", "#808080"}};
  Json text{{"type", "text"}, {"color", "#808080"}, {"align", after ? "left" : "right"}};
  if (axis == 'x') {
    text.update(Json{{"dx", after ? 4 : -4}, {"y", -4}, {"baseline", "bottom"}});
  } else {
    text.update(Json{{"x", after ? Json(4) : Json("width")}, {"dy", -6}});
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

std::string listed_are(std::span<const std::string> words) {
  return listed(words) + (words.size() == 1 ? " is" : " are");
}

}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
//
// How plans and lengths are drawn, the same way in every picture: a plan keeps its colour, its dashes and its symbol,
// so that it is known without colour too. Colours are those of Okabe and Ito (2008), which colour-blind people tell
// apart; "none", the file as it is, is grey.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "mrrope/statistics.h"
#include "report/sheet.h"

namespace mrrope::report {

class Look {
 public:
  // `plans`: all of the page.
  explicit Look(std::vector<eval::PlanName> plans) : plans_(std::move(plans)) {}

  // {"colour": …, "dash": …, "shape": …}: encodings of the field "plan" for the plans that a picture shows.
  [[nodiscard]] base::Json encodings(std::span<const eval::PlanName> shown) const;

 private:
  std::vector<eval::PlanName> plans_;
};

// What stands for "@name" in the text of a specification.
using Parts = std::vector<std::pair<std::string, base::Json>>;

// A specification written as JSON in which strings that begin with @ stand for one of `parts`; "@data" for the rows of
// `data`. Domain: valid JSON, and every @name is known.
base::Json make_spec(std::string_view text, const std::string& description, const Sheet& data, const Parts& parts);

// The x axis of lengths: powers of two evenly spaced, the measured lengths as its ticks.
base::Json length_axis(std::span<const std::int64_t> lengths, const std::string& title);

// The x axis of positions and distances from 0 to `last`, with ticks that are whole powers of two apart.
base::Json token_axis(const std::string& field, const std::string& title, std::int64_t last);

// {"scale": …, "axis": …} of differences in percent: as they are, or compressed away from 0 if some are larger than
// `few`.
base::Json percent_scale(double low, double high, double few = 30);

// A layer of some eight symbols on each line of `rows` points, so that lines are known without colour.
base::Json sparse_points(const base::Json& x, const base::Json& y, const base::Json& look, std::size_t rows);

// Layers that mark a place on the x or y axis with a rule and a word: after (or before) it, at its left (or right) end.
base::Json rule_layers(char axis, std::int64_t at, const std::string& word, bool after);

// Layers that mark the trained length with a rule and a word; none if it is unknown or far outside `lengths`.
base::Json trained_layers(std::int64_t trained, std::span<const std::int64_t> lengths);

// "3.610", "1234".
std::string ppl_text(double ppl);

// "a", "a and b", "a, b and c".
std::string listed(std::span<const std::string> words);
// The same with its verb: "a is", "a and b are".
std::string listed_are(std::span<const std::string> words);

}  // namespace mrrope::report

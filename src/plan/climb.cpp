// SPDX-License-Identifier: MIT
//
// The rule of a text that climbs, and its rungs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "mrrope/catalogue.h"
#include "mrrope/ladder.h"
#include "mrrope/units.h"

namespace mrrope {

namespace {

constexpr std::string_view kName = "climb";
constexpr std::string_view kRatio = ":ratio=";

Result<double> ratio_of(std::string_view text) {
  const Result<double> ratio = parse_number(text);
  if (ratio && *ratio >= kMinRatio && *ratio <= kMaxRatio) return *ratio;
  return Error{ErrorCode::invalid_argument,
               fmt::format("expected a number between {} and {}, found \"{}\"", format_number(kMinRatio),
                           format_number(kMaxRatio), base::printable(std::string(text))),
               "climb.ratio"};
}

}  // namespace

bool names_climb(std::string_view text) { return text.substr(0, text.find(':')) == kName; }

Result<Climb> parse_climb(std::string_view text) {
  if (!names_climb(text)) {
    return Error{ErrorCode::malformed, "expected climb:METHOD, found \"" + base::printable(std::string(text)) + "\"",
                 ""};
  }
  Climb climb;
  std::string rest(text.substr(kName.size()));  // ":ratio=2:yarn:beta_fast=16", the ratio at any place
  if (const std::size_t at = rest.find(kRatio); at != std::string::npos) {
    const std::size_t from = at + kRatio.size();
    const std::size_t end = std::min(rest.find_first_of(":+", from), rest.size());
    const Result<double> ratio = ratio_of(std::string_view(rest).substr(from, end - from));
    if (!ratio) return ratio.error();
    climb.ratio = *ratio;
    rest.erase(at, end - at);
  }
  rest.erase(0, 1);
  if (!rest.empty()) {
    Result<Method> method = parse_method(rest);
    if (!method) return method.error();
    climb.method = *std::move(method);
  }
  if (spell(climb.method) == "none") {
    return Error{ErrorCode::invalid_argument, "none extends nothing: expected another method, as in climb:mrrope-pro",
                 "climb"};
  }
  if (climb.method.factor) {
    return Error{ErrorCode::invalid_argument, "each rung has its own factor: leave it out", "climb.factor"};
  }
  return climb;
}

std::string spell(const Climb& climb) {
  std::string text(kName);
  if (climb.ratio != Climb{}.ratio) text += fmt::format("{}{}", kRatio, format_number(climb.ratio));
  return text + ":" + spell(climb.method);
}

Result<Ladder> climbing_ladder(const RopeSpec& spec, std::int64_t context_target, const Climb& climb) {
  const Result<Plan> last = make_plan(spec, context_target, climb.method);
  if (!last) return last.error();
  const auto trained = static_cast<double>(spec.context_trained);
  const double log_factor = std::log(static_cast<double>(context_target) / trained);
  // At least one step where there is anything to extend; a ratio of 1 or less would take infinitely many
  const double steps = log_factor <= 0 ? 0 : std::max(1.0, std::round(log_factor / std::log(climb.ratio)));
  if (!(steps < static_cast<double>(kMaxRungs))) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} times the trained length in steps of {} are {:.0f} rungs, at most {} are possible",
                             format_number(last->factor), format_number(climb.ratio), steps + 1, kMaxRungs),
                 "climb.ratio"};
  }
  std::vector<std::int64_t> lengths;
  for (int step = 0; step < static_cast<int>(steps); ++step) {
    const std::int64_t length = std::llround(trained * std::exp(log_factor * step / steps));
    if (lengths.empty() || length > lengths.back()) lengths.push_back(length);
  }
  if (lengths.empty() || lengths.back() < context_target) lengths.push_back(context_target);
  return make_ladder(spec, lengths, climb.method);
}

}  // namespace mrrope

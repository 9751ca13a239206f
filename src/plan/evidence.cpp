// SPDX-License-Identifier: MIT
#include "plan/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "mrrope/catalogue.h"
#include "plan/evidence_table.h"

namespace mrrope::plan {

namespace {

// The measurement of the method nearest to the factor; factors are ratios, so 4 is as far from 2 as from 8.
const Meeting* nearest(const std::string& method, double factor) {
  const Meeting* best = nullptr;
  const auto distance = [factor](const Meeting& meeting) { return std::abs(std::log(meeting.factor / factor)); };
  for (const Meeting& meeting : kMeetings) {
    if (meeting.method == method && (best == nullptr || distance(meeting) < distance(*best))) best = &meeting;
  }
  return best;
}

// "better 2, tied 5"; empty: nothing was compared.
std::string words(const Tally& tally) {
  std::string out;
  const auto add = [&out](std::string_view word, int count) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", word, count);
  };
  add("better", tally.better);
  add("worse", tally.worse);
  add("tied", tally.tied);
  return out;
}

}  // namespace

std::optional<std::string> evidence(const Plan& plan) {
  const Meeting* meeting = plan.factor > 1 ? nearest(spell(plan.method), plan.factor) : nullptr;
  if (meeting == nullptr) return std::nullopt;
  std::string tallies;
  for (const auto& [what, tally] : {std::pair{"perplexity", meeting->longest},
                                    {"perplexity within the trained length", meeting->trained},
                                    {"kinds of answers", meeting->answers}}) {
    const std::string counts = words(tally);
    if (!counts.empty()) tallies += fmt::format("{}{} {}", tallies.empty() ? "" : "; ", what, counts);
  }
  return fmt::format("Measured at {:g} times the trained length on {} small model{}, against {}: {} (docs/results).",
                     meeting->factor, meeting->models, meeting->models == 1 ? "" : "s", meeting->against, tallies);
}

}  // namespace mrrope::plan

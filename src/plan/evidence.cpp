// SPDX-License-Identifier: MIT
#include "plan/evidence.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

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

// "tied in both comparisons", "better in 2, tied in 5 of 7 comparisons"; empty: nothing was compared.
std::string words(const Tally& tally) {
  const int all = tally.better + tally.worse + tally.tied;
  std::string out;
  for (const auto& [word, count] : {std::pair{"better", tally.better}, {"worse", tally.worse}, {"tied", tally.tied}}) {
    if (count == 0) continue;
    if (count == all) {
      return all == 1 ? word
                      : fmt::format("{} in {} comparisons", word, all == 2 ? "both" : fmt::format("all {}", all));
    }
    out += fmt::format("{}{} in {}", out.empty() ? "" : ", ", word, count);
  }
  return out.empty() ? out : fmt::format("{} of {} comparisons", out, all);
}

}  // namespace

std::optional<std::string> evidence(const Plan& plan) {
  const Meeting* meeting = plan.factor > 1 ? nearest(spell(plan.method), plan.factor) : nullptr;
  if (meeting == nullptr) return std::nullopt;
  std::string tallies;
  for (const auto& [what, tally] : {std::pair{"perplexity", meeting->longest},
                                    {"perplexity within the trained length", meeting->trained},
                                    {"answers", meeting->answers}}) {
    const std::string counts = words(tally);
    if (!counts.empty()) tallies += fmt::format("{}{} {}", tallies.empty() ? "" : "; ", what, counts);
  }
  return fmt::format(
      "Measured with plans for {:g} times the trained length on {} small model{}, against {} (docs/results): {}.",
      meeting->factor, meeting->models, meeting->models == 1 ? "" : "s", meeting->against, tallies);
}

}  // namespace mrrope::plan

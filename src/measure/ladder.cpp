// SPDX-License-Identifier: MIT
#include "mrrope/catalogue.h"
#include "mrrope/measure.h"
#include "mrrope/records.h"

namespace mrrope::eval {

namespace {

// A table of one's own has no spelling that tells it from others.
std::string name_of(const Plan& plan) {
  if (!std::holds_alternative<Custom>(plan.method.law)) return spell(plan.method);
  const GroupPlan& group = plan.groups.front();
  return spell(plan.method) + "#" + rotation_hash(group.inv_freq, group.attention_scale);
}

std::string name_of(const Ladder& ladder) {
  std::string text = "ladder(";
  std::string last;
  for (const Rung& rung : ladder.rungs) {
    const std::string method = name_of(rung.plan);
    if (method != last) text += (last.empty() ? "" : ",") + method;
    text += "@" + format_context(rung.length);
    last = method;
  }
  return text + ")";
}

}  // namespace

Result<Candidate> candidate_of(const RopeSpec& spec, std::int64_t context_target, const Climb& climb) {
  Result<Ladder> ladder = climbing_ladder(spec, context_target, climb);
  if (!ladder) return ladder.error();
  Candidate candidate{.method = spell(climb), .factor = ladder->rungs.back().plan.factor, .plan = {}};
  candidate.climb = *std::move(ladder);
  return candidate;
}

std::vector<Candidate> candidates_of(const Ladder& ladder) {
  const std::string name = name_of(ladder);
  std::vector<Candidate> candidates;
  std::int64_t above = 0;
  for (const Rung& rung : ladder.rungs) {
    Candidate candidate{.method = name, .factor = ladder.rungs.back().plan.factor, .plan = {}};
    if (spell(rung.plan.method) != "none") candidate.plan = rung.plan;
    candidate.rung = rung.name;
    candidate.above = above;
    candidate.length = above = rung.length;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Which lengths a ladder has: as few servings as save something.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "mrrope/ladder.h"

namespace mrrope {

namespace {

// A rung this near below the target takes memory and saves little.
constexpr double kNear = 1.5;

Result<Plan> plan_for(const RopeSpec& spec, std::int64_t length, const std::optional<Method>& method) {
  if (!method || length <= spec.context_trained) return recommend(spec, length);
  return make_plan(spec, length, *method);
}

// Prompts between two rungs pay what the upper one costs, and are as many as the tail of 1/length has there.
double paid(const RungCandidate& below, const RungCandidate& rung) {
  return rung.cost * (1 / static_cast<double>(below.length) - 1 / static_cast<double>(rung.length));
}

}  // namespace

std::vector<std::int64_t> cheapest_rungs(const std::vector<RungCandidate>& candidates, std::size_t most) {
  assert(!candidates.empty() && most >= 1);
  if (most == 1 || candidates.size() == 1) return {candidates.back().length};

  // least[i]: what the prompts up to candidate i pay if it is the last of `count` rungs, and the rung before it.
  struct Step {
    double least = std::numeric_limits<double>::infinity();
    std::size_t below = 0;
  };
  const std::size_t n = candidates.size();
  std::vector<std::vector<Step>> steps(1, std::vector<Step>(n));
  steps[0][0].least = 0;
  for (std::size_t count = 1; count < std::min(most, n); ++count) {
    steps.emplace_back(n);
    for (std::size_t i = count; i < n; ++i) {
      for (std::size_t below = count - 1; below < i; ++below) {
        const double sum = steps[count - 1][below].least + paid(candidates[below], candidates[i]);
        if (sum < steps[count][i].least) steps[count][i] = {.least = sum, .below = below};
      }
    }
  }

  // One more rung has to save more than rounding does
  std::size_t best = 1;
  for (std::size_t count = 2; count < steps.size(); ++count) {
    if (steps[count][n - 1].least < steps[best][n - 1].least * (1 - 1e-9)) best = count;
  }
  std::vector<std::int64_t> lengths;
  for (std::size_t i = n - 1, count = best + 1; count-- > 0; i = steps[count][i].below) {
    lengths.push_back(candidates[i].length);
  }
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

Result<std::vector<std::int64_t>> choose_rungs(const RopeSpec& spec, std::int64_t context_target,
                                               const std::optional<Method>& method, std::size_t most) {
  if (most < 1 || most > kMaxRungs) {
    return Error{ErrorCode::invalid_argument, fmt::format("expected 1 to {} rungs, found {}", kMaxRungs, most), "most"};
  }
  const Result<Plan> last = plan_for(spec, context_target, method);
  if (!last) return last.error();

  // The trained length and its doubles, of those without drift the longest. Drift stands in for the cost: it grows with
  // the factor of one method, as the cost does, and nothing was measured.
  std::vector<RungCandidate> candidates;
  for (std::int64_t length = spec.context_trained;
       static_cast<double>(length) * (candidates.empty() ? 1 : kNear) <= static_cast<double>(context_target) &&
       length < context_target;
       length *= 2) {
    const Result<Plan> plan = plan_for(spec, length, method);
    if (!plan) return plan.error();
    candidates.push_back({.length = length, .cost = exposure(*plan).short_drift_turns});
  }
  candidates.push_back({.length = context_target, .cost = exposure(*last).short_drift_turns});
  while (candidates.size() > 1 && candidates[1].cost <= candidates[0].cost) candidates.erase(candidates.begin());
  return cheapest_rungs(candidates, most);
}

Result<Ladder> make_ladder(const RopeSpec& spec, const std::vector<std::int64_t>& lengths,
                           const std::optional<Method>& method, std::optional<std::int64_t> reserve) {
  std::vector<Plan> plans;
  for (const std::int64_t length : lengths) {
    Result<Plan> plan = plan_for(spec, length, method);
    if (!plan) return plan.error();
    plans.push_back(*std::move(plan));
  }
  return ladder_of_plans(std::move(plans), reserve);
}

}  // namespace mrrope

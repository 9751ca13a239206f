// SPDX-License-Identifier: MIT
//
// Which plan we would use, and how we would explain any plan to its user.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/units.h"
#include "plan/evidence.h"

namespace mrrope {

namespace {

// The largest extension the MrRoPE paper measured (4K -> 64K and 8K -> 128K).
constexpr double kMeasuredFactor = 16;

std::string pairs_text(int count) { return fmt::format("{} pair{}", count, count == 1 ? "" : "s"); }

// The same method one step further out.
double drift_at_twice(const Plan& plan) {
  if (plan.context_target > kMaxContext / 2) return 0;
  const Result<Plan> larger = make_plan(plan.spec, plan.context_target * 2, plan.method);
  return larger ? exposure(*larger).short_drift_turns : 0;
}

void explain_factor(const Plan& plan, Explanation& out) {
  const auto target = plan.context_target;
  const auto trained = plan.spec.context_trained;
  if (plan.method.factor) {
    out.reasons.push_back(fmt::format("The method asks for a table of factor {:.6g}; {} tokens from {} are {:.4g}.",
                                      *plan.method.factor, target, trained, plan.factor));
    return;
  }
  if (plan.factor <= 1) {
    out.reasons.push_back(fmt::format("The model was trained for {} tokens; {} need no extension.", trained, target));
    return;
  }
  std::string text =
      fmt::format("Factor {:.4g} is the smallest that covers {} tokens from {}.", plan.factor, target, trained);
  const double here = exposure(plan).short_drift_turns;
  const double there = drift_at_twice(plan);
  if (here > 0 && there > here * 1.01) {
    text += fmt::format(" Twice the factor would have {:.2g} times the drift.", there / here);
  }
  out.reasons.push_back(text);
}

void explain_short_prompts(const Plan& plan, const Exposure& e, Explanation& out) {
  if (e.short_drift_turns == 0 && plan.groups[0].attention_scale == 1) {
    out.reasons.emplace_back("Short prompts see the trained table.");
    return;
  }
  // Two yardsticks people know, at the same factor
  std::string others;
  for (const Method& other : {Method{Yarn{}}, Method{Linear{}}}) {
    if (plan.factor <= 1 || other == plan.method) continue;
    const Result<Plan> made = make_plan(plan.spec, plan.context_target, other);
    if (!made) continue;
    others += fmt::format("{}{} {:.3g}", others.empty() ? "" : ", ", spell(other), exposure(*made).short_drift_turns);
  }
  out.reasons.push_back(fmt::format(
      "Drift: within the trained {} tokens, phases move up to {:.3g} turns from training (pair {}{}). It is no measure "
      "of quality.",
      plan.spec.context_trained, e.short_drift_turns, e.short_drift_pair, others.empty() ? "" : "; " + others));
}

void explain_unseen(const Plan& plan, const Exposure& e, Explanation& out) {
  if (e.unseen_pairs == 0) {
    out.reasons.emplace_back("No pair meets an angle that it did not see in training.");
  } else {
    const std::string text = fmt::format("{} meet{} angles up to {:.3g} times beyond training.",
                                         pairs_text(e.unseen_pairs), e.unseen_pairs == 1 ? "s" : "", e.unseen_ratio);
    (plan.factor > 1 ? out.cautions : out.reasons).push_back(text);
  }
}

}  // namespace

Result<Plan> recommend(const RopeSpec& spec, std::int64_t context_target) {
  if (context_target <= spec.context_trained) return make_plan(spec, context_target, None{});
  return make_plan(spec, context_target, MrRopePro{});
}

Explanation explain(const Plan& plan) {
  Explanation out;
  const Exposure e = exposure(plan);
  const GroupPlan& group = plan.groups[0];
  explain_factor(plan, out);
  explain_short_prompts(plan, e, out);
  explain_unseen(plan, e, out);
  if (std::optional<std::string> measured = plan::evidence(plan)) out.measured = *std::move(measured);

  for (std::size_t g = 1; g < plan.groups.size(); ++g) {
    if (plan.spec.groups[g].extended) continue;
    out.reasons.push_back(fmt::format("Layers of group \"{}\" look only a short way back and keep their table.",
                                      plan.spec.groups[g].name));
  }
  if (plan.spec.groups[0].trained) {
    out.reasons.push_back(fmt::format("The model's own scaling ({}) stays; the extension multiplies it.",
                                      brief(plan.spec.groups[0].trained->method)));
  }
  if (plan.length && !std::holds_alternative<LongRope>(plan.method.law)) {
    out.cautions.push_back(fmt::format(
        "The table changes with the text's length (this one is for {}); keys cached earlier keep the older rotation.",
        *plan.length));
  }
  if (plan.factor > kMeasuredFactor && !std::holds_alternative<None>(plan.method.law)) {
    out.cautions.push_back(fmt::format("Beyond {}x nothing was measured by the paper; expect losses and measure.",
                                       static_cast<int>(kMeasuredFactor)));
  }
  const auto last_pair = static_cast<double>(group.pair_factors.size()) - 1;
  if (plan.factor > 1 && group.band.high > last_pair && group.radix.last >= group.radix.first) {
    out.cautions.push_back(
        fmt::format("The band ends at pair {:.4g}, beyond the last pair {:.0f}: the slowest pair is "
                    "slowed down by {:.4g} only.",
                    group.band.high, last_pair, group.pair_factors.back()));
  }
  return out;
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/units.h"

namespace mrrope {

namespace {

constexpr std::size_t kMaxName = 32;

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// As a file, a section of an INI file and a model of a gateway can be called.
Result<void> check_name(const std::string& name, const std::string& where) {
  const bool fine =
      !name.empty() && name.size() <= kMaxName && is_plain(name.front()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; });
  if (fine) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("expected 1 to {} letters, digits and . _ - that start with a letter or a digit", kMaxName),
               where};
}

// Some file systems do not tell "1m" from "1M".
std::string folded(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

bool same_model(const RopeSpec& a, const RopeSpec& b) {
  return a.context_trained == b.context_trained && a.groups == b.groups;
}

std::string model_words(const RopeSpec& spec) {
  const LayerGroup& group = spec.groups[0];
  return fmt::format("{} tokens, rotary width {}, base {}", spec.context_trained, group.rotary_dim,
                     format_number(group.base));
}

bool as_trained(const Plan& plan) {
  const Result<Plan> trained = make_plan(plan.spec, plan.context_target, None{});
  return trained && trained->groups == plan.groups;
}

// What the analysis says of a rung; `last`: what would serve all prompts if there were no ladder.
std::string reason(const Plan& plan, const Plan* below, const Plan& last) {
  const std::int64_t trained = plan.spec.context_trained;
  if (as_trained(plan)) {
    return plan.context_target <= trained
               ? fmt::format("The model as it is: no cost up to {} tokens.", plan.context_target)
               : fmt::format("The table it was trained with, at {} tokens: no cost.", plan.context_target);
  }
  const Exposure here = exposure(plan);
  std::string text = fmt::format(
      "{} at factor {:.4g}, for {} to {} tokens: inside the trained {}, phases move up to {:.3g} "
      "turns from training (pair {})",
      brief(plan.method), plan.factor, below != nullptr ? below->context_target + 1 : 1, plan.context_target, trained,
      here.short_drift_turns, here.short_drift_pair);
  if (&plan != &last)
    text += fmt::format("; with {} it would be {:.3g}", last.context_target, exposure(last).short_drift_turns);
  return text + ".";
}

}  // namespace

Result<void> check_ladder(const Ladder& ladder) {
  const std::vector<Rung>& rungs = ladder.rungs;
  const auto wrong = [](ErrorCode code, std::string message, std::string where) {
    return Error{code, std::move(message), std::move(where)};
  };
  if (rungs.empty() || rungs.size() > kMaxRungs) {
    return wrong(ErrorCode::invalid_argument, fmt::format("expected 1 to {} rungs, found {}", kMaxRungs, rungs.size()),
                 "rungs");
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Rung& rung = rungs[i];
    const std::string at = fmt::format("rungs[{}]", i);
    if (const auto ok = check_name(rung.name, at + ".name"); !ok) return ok.error();
    if (std::find(names.begin(), names.end(), folded(rung.name)) != names.end()) {
      return wrong(ErrorCode::inconsistent, fmt::format("two rungs are called {}", rung.name), at + ".name");
    }
    names.push_back(folded(rung.name));
    if (rung.length < 1 || rung.length > rung.plan.context_target) {
      return wrong(ErrorCode::inconsistent,
                   fmt::format("expected a length between 1 and the {} tokens of its plan, found {}",
                               rung.plan.context_target, rung.length),
                   at + ".length");
    }
    if (i == 0) continue;
    if (rung.length <= rungs[i - 1].length) {
      return wrong(ErrorCode::inconsistent,
                   fmt::format("expected lengths that ascend, found {} after {}", rung.length, rungs[i - 1].length),
                   at + ".length");
    }
    if (!same_model(rungs[0].plan.spec, rung.plan.spec)) {
      return wrong(ErrorCode::inconsistent,
                   fmt::format("made for another model than the first one ({}, not {}): the rungs of a ladder are one "
                               "model",
                               model_words(rung.plan.spec), model_words(rungs[0].plan.spec)),
                   at + ".plan");
    }
  }
  if (ladder.reserve < 0 || ladder.reserve >= rungs[0].length) {
    return wrong(ErrorCode::invalid_argument,
                 fmt::format("expected 0 to {} tokens for an answer, so that the first rung has room for a prompt; "
                             "found {}",
                             rungs[0].length - 1, ladder.reserve),
                 "reserve");
  }
  return {};
}

Result<Ladder> ladder_of_plans(std::vector<Plan> plans, std::optional<std::int64_t> reserve) {
  Ladder ladder;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    ladder.rungs.push_back({.name = format_context(plans[i].context_target),
                            .length = plans[i].context_target,
                            .plan = plans[i],
                            .why = reason(plans[i], i > 0 ? &plans[i - 1] : nullptr, plans.back())});
  }
  if (!plans.empty()) {
    ladder.reserve = reserve.value_or(std::min(kMostReserve, plans[0].context_target / 8));
    ladder.source = plans[0].source;
  }
  if (const auto ok = check_ladder(ladder); !ok) return ok.error();
  return ladder;
}

const Rung* rung_for(const Ladder& ladder, std::int64_t prompt, std::optional<std::int64_t> answer) {
  assert(prompt >= 0 && answer.value_or(0) >= 0);
  for (const Rung& rung : ladder.rungs) {
    const bool last = &rung == &ladder.rungs.back();
    const std::int64_t wanted = answer.value_or(last ? 1 : ladder.reserve);
    if (prompt <= rung.length && wanted <= rung.length - prompt) return &rung;
  }
  return nullptr;
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/ladder.h"
#include "cli/measured_cost.h"
#include "cli/next.h"

namespace mrrope::cli {

namespace {

Result<std::vector<std::int64_t>> typed_lengths(const std::string& text) {
  std::vector<std::int64_t> lengths;
  for (const std::string_view part : base::split(text, ',')) {
    const Result<std::int64_t> length = parse_context(part);
    if (!length) return Error{length.error().code, to_string(length.error()), "--rungs"};
    if (!lengths.empty() && *length <= lengths.back()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("expected lengths that ascend, found {} after {}", part, format_context(lengths.back())),
                   "--rungs"};
    }
    lengths.push_back(*length);
  }
  return lengths;
}

std::string engine_of(const LadderOptions& options, const ModelFile& file) {
  if (!options.engine.empty()) return options.engine;
  return file.gguf() != nullptr ? "llama.cpp" : "vllm";
}

// From here on everything may say which of several plans a rung gets.
class Maker {
 public:
  Maker(const LadderOptions& options, const ModelFile& file, const RopeSpec& spec)
      : options_(options), file_(file), spec_(spec) {}

  Result<Rungs> make() {
    if (!options_.method.empty()) {
      const Result<Method> parsed = parse_method(options_.method);
      if (!parsed) return Error{parsed.error().code, to_string(parsed.error()), "--method"};
      method_ = *parsed;
    }
    if (!options_.runs.empty()) {
      Result<MeasuredCosts> costs = MeasuredCosts::read(options_.runs, spec_.context_trained);
      if (!costs) return costs.error();
      costs_ = *std::move(costs);
    }
    const Result<std::vector<Plan>> plans = options_.plans.empty() ? made_plans() : read_plans();
    if (!plans) return plans.error();
    std::optional<std::int64_t> reserve;
    if (!options_.reserve.empty()) {
      const Result<std::int64_t> tokens = options_.reserve == "0" ? 0 : parse_context(options_.reserve);
      if (!tokens) return Error{tokens.error().code, tokens.error().message, "--reserve"};
      reserve = *tokens;
    }
    Result<Ladder> ladder = ladder_of_plans(*plans, reserve);
    if (!ladder) {
      const char* flag = ladder.error().where == "reserve" ? "--reserve"
                         : !options_.plans.empty()         ? "--plans"
                         : !options_.rungs.empty()         ? "--rungs"
                                                           : "-c";
      return Error{ladder.error().code, to_string(ladder.error()), flag};
    }
    ladder->source = options_.model.file;
    for (Rung& rung : ladder->rungs) {
      const std::optional<MeasuredPlan> measured = costs_ ? costs_->best(rung.length) : std::nullopt;
      if (measured && measured->method == rung.plan.method) rung.why = measured->why;
    }
    out_.ladder = *std::move(ladder);
    return std::move(out_);
  }

 private:
  Result<std::vector<std::int64_t>> lengths() {
    if (!options_.rungs.empty()) return typed_lengths(options_.rungs);
    const Model model{.spec = spec_, .context_target = 0, .plan = std::nullopt, .source = options_.model.file};
    const Result<std::int64_t> target = target_of(options_.model, model);
    if (!target) return target.error();
    // Where only windows rotate, one length costs as little as another
    const Result<Plan> last = wanted(*target);
    if (!last) return last.error();
    Result<std::vector<std::int64_t>> all =
        choose_rungs(spec_, *target, last->method, costs_ ? kMaxRungs : kUsualRungs);
    if (!all) return Error{all.error().code, to_string(all.error()), "-c"};
    if (!costs_) return all;
    std::vector<RungCandidate> candidates;
    for (const std::int64_t length : *all) {
      const std::optional<MeasuredPlan> measured = costs_->best(length);
      if (!measured && length == *target && length > spec_.context_trained) {
        return Error{ErrorCode::invalid_argument,
                     fmt::format("no run measured a plan of factor {:g} at {} tokens, and inside the trained length; "
                                 "measure it, or leave --from out",
                                 last->factor, length),
                     "--from"};
      }
      if (!measured && length > spec_.context_trained) continue;  // nobody knows whether it would save anything
      candidates.push_back({.length = length, .cost = measured ? measured->cost : 0});
    }
    return cheapest_rungs(candidates, kUsualRungs);
  }

  [[nodiscard]] Result<Plan> wanted(std::int64_t length) const {
    Result<Plan> plan = length <= spec_.context_trained ? make_plan(spec_, length, None{})
                        : method_                       ? make_plan(spec_, length, *method_)
                                                        : recommend(file_, length);
    if (!plan) {
      const char* flag = method_ ? "--method" : options_.rungs.empty() ? "-c" : "--rungs";
      return Error{plan.error().code, to_string(plan.error()), flag};
    }
    if (costs_ && !method_ && length > spec_.context_trained) {
      if (const std::optional<MeasuredPlan> measured = costs_->best(length)) {
        plan = make_plan(spec_, length, measured->method);
        if (!plan) return Error{plan.error().code, to_string(plan.error()), "--from"};
      }
    }
    plan->source = options_.model.file;
    return plan;
  }

  // Each length's plan, or the nearest that the engine runs.
  Result<std::vector<Plan>> made_plans() {
    Result<std::vector<std::int64_t>> all = lengths();
    if (!all) return all.error();
    // Short prompts lose nothing only where the model is served as it is
    const Result<Plan> first = wanted(all->front());
    if (!first) return first.error();
    if (all->front() > spec_.context_trained && !std::holds_alternative<None>(first->method.law)) {
      all->insert(all->begin(), spec_.context_trained);
    }
    std::vector<Plan> plans;
    for (const std::int64_t length : *all) {
      Result<Plan> plan = wanted(length);
      if (!plan) return plan.error();
      if (plan->factor > 1 && !method_) {
        const Result<Choice> choice = choose(file_, *plan, engine_of(options_, file_));
        if (!choice) {
          return Error{choice.error().code, to_string(choice.error()), options_.engine.empty() ? "-c" : "--target"};
        }
        if (out_.notes.empty() && !choice->why.empty()) out_.notes.push_back(explain_choice(file_, *choice));
        plan = choice->plan;
      }
      plans.push_back(*std::move(plan));
    }
    return plans;
  }

  Result<std::vector<Plan>> read_plans() const {
    std::vector<Plan> plans;
    for (const std::string& path : options_.plans) {
      Result<Plan> plan = plan_of_file(path);
      if (!plan) return Error{plan.error().code, to_string(plan.error()), "--plans"};
      if (const auto ok = check_fit(*plan, spec_); !ok) {
        return Error{ok.error().code, fmt::format("{}: {}", path, ok.error().message), "--plans"};
      }
      plan->spec = spec_;  // the same within rounding; the name may be another
      plans.push_back(*std::move(plan));
    }
    std::sort(plans.begin(), plans.end(),
              [](const Plan& a, const Plan& b) { return a.context_target < b.context_target; });
    if (plans.front().context_target > spec_.context_trained) {
      Result<Plan> as_it_is = make_plan(spec_, spec_.context_trained, None{});
      if (!as_it_is) return as_it_is.error();
      plans.insert(plans.begin(), *std::move(as_it_is));
    }
    return plans;
  }

  const LadderOptions& options_;
  const ModelFile& file_;
  const RopeSpec& spec_;
  std::optional<Method> method_;
  std::optional<MeasuredCosts> costs_;
  Rungs out_;
};

}  // namespace

Result<Rungs> rungs_of(const LadderOptions& options, const ModelFile& file, const RopeSpec& spec) {
  return Maker(options, file, spec).make();
}

}  // namespace mrrope::cli

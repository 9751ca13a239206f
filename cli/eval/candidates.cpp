// SPDX-License-Identifier: MIT
//
// The rows of a measurement: methods times factors, plan files, and the rungs of a ladder.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/eval/eval.h"
#include "cli/input.h"
#include "mrrope/ladder.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

Result<eval::Candidate> row_of_method(std::string_view spelling, const RopeSpec& spec, std::int64_t target) {
  const auto of_this_model = [](const Error& error) { return Error{error.code, to_string(error), "--methods"}; };
  if (names_climb(spelling)) {
    const Result<Climb> climb = parse_climb(spelling);
    if (!climb) return at("--methods", climb.error());
    Result<eval::Candidate> row = eval::candidate_of(spec, target, *climb);
    return row ? row : of_this_model(row.error());
  }
  const Result<Method> method = parse_method(spelling);
  if (!method) return at("--methods", method.error());
  if (spell(*method) == "none") return eval::Candidate{"none", 1, std::nullopt};
  Result<Plan> plan = make_plan(spec, target, *method);
  if (!plan) return of_this_model(plan.error());
  return eval::Candidate{spell(*method), plan->factor, *std::move(plan)};
}

Result<std::vector<eval::Candidate>> methods_of(const EvalOptions& options, const RopeSpec& spec) {
  std::string factors = options.factors;
  if (factors.empty()) {
    if (options.methods != "none") {
      return Error{ErrorCode::invalid_argument, "expected how many times the trained length, such as 4", "--factor"};
    }
    factors = "1";
  }
  const std::string methods =
      options.methods.empty() ? "none,linear,ntk,yarn,yarn-rotations,mrrope-uni,mrrope-pro" : options.methods;
  std::vector<eval::Candidate> candidates;
  for (const std::string_view part : base::split(factors, ',')) {
    const Result<double> factor = parse_number(part);
    if (!factor || !(*factor >= 1 && *factor <= kMaxFactor)) {
      return Error{ErrorCode::invalid_argument, fmt::format("expected a number of at least 1, found \"{}\"", part),
                   "--factor"};
    }
    const auto target = static_cast<std::int64_t>(std::llround(*factor * static_cast<double>(spec.context_trained)));
    for (const std::string_view spelling : base::split(methods, ',')) {
      Result<eval::Candidate> row = row_of_method(spelling, spec, target);
      if (!row) return row.error();
      const bool plain = !row->plan && !row->climb;
      const auto same = [&](const eval::Candidate& c) { return plain && c.same_row(*row); };
      if (std::none_of(candidates.begin(), candidates.end(), same)) candidates.push_back(*std::move(row));
    }
  }
  return candidates;
}

// Under the name of its method: the same plan by --methods is the same row.
Result<eval::Candidate> row_of(const std::string& path, const RopeSpec& spec) {
  Result<Plan> plan = plan_of_file(path);
  if (!plan) return plan.error();
  if (const auto ok = check_fit(*plan, spec); !ok) return Error{ok.error().code, ok.error().message, path};
  const std::string name = spell(plan->method);
  if (name == "none") return eval::Candidate{"none", 1, std::nullopt};
  const double factor = plan->factor;
  return eval::Candidate{name, factor, *std::move(plan)};
}

Result<std::vector<eval::Candidate>> rungs_of(const std::string& path, const RopeSpec& spec, std::int64_t longest) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  const Result<Ladder> ladder = ladder_from_json(*text);
  if (!ladder) return Error{ladder.error().code, to_string(ladder.error()), path};
  for (const Rung& rung : ladder->rungs) {
    if (const auto ok = check_fit(rung.plan, spec); !ok) return Error{ok.error().code, ok.error().message, path};
  }
  if (const std::int64_t last = ladder->rungs.back().length; last < longest) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the last rung of {} takes {} tokens, and nothing takes {}", path, format_context(last),
                             format_context(longest)),
                 "--lengths"};
  }
  return eval::candidates_of(*ladder);
}

}  // namespace

Result<std::vector<eval::Candidate>> candidates_of(const EvalOptions& options, std::int64_t longest) {
  const Result<ModelFile> file = open_model(options.model, options.trained);
  if (!file) return file.error();
  const Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return Error{spec.error().code, to_string(spec.error()), options.model};
  const bool files = !options.plans.empty() || !options.ladder.empty();
  const bool alone = files && options.methods.empty() && options.factors.empty();
  Result<std::vector<eval::Candidate>> candidates = alone ? std::vector<eval::Candidate>() : methods_of(options, *spec);
  if (!candidates) return candidates;
  for (const std::string& path : options.plans) {
    Result<eval::Candidate> row = row_of(path, *spec);
    if (!row) return row.error();
    const auto same = [&](const eval::Candidate& other) { return other.same_row(*row); };
    if (std::none_of(candidates->begin(), candidates->end(), same)) candidates->push_back(*std::move(row));
  }
  if (options.ladder.empty()) return candidates;
  Result<std::vector<eval::Candidate>> rungs = rungs_of(options.ladder, *spec, longest);
  if (!rungs) return rungs.error();
  for (eval::Candidate& rung : *rungs) candidates->push_back(std::move(rung));
  return candidates;
}

}  // namespace mrrope::cli

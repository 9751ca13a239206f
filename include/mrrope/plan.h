// SPDX-License-Identifier: MIT
//
// Plan: the decision how one model is extended, complete enough to be carried out by anyone.
//
//   Result<RopeSpec> spec = parse_spec("dim=128,base=10000,ctx=4096");
//   Result<Plan> plan = make_plan(*spec, 65536, MrRopePro{});
//   plan->groups[0].inv_freq;          // 64 angular speeds, ready for any engine
//   std::string file = to_json(*plan); // a plan file: docs/plan-file.md
//
// A plan is a value: the same spec, target and method give the same plan, byte for byte in JSON, on every machine with
// the same math library (and within 1e-12 on any other). Everything else in mrrope produces or consumes plans.
// Functions are pure and safe to call from any thread. Cost of make_plan: a few microseconds for 64 pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/analysis.h"
#include "mrrope/methods.h"
#include "mrrope/radix.h"
#include "mrrope/result.h"
#include "mrrope/spec.h"

namespace mrrope {

// What the layers of one group will use.
struct GroupPlan {
  // Relative to base^(-i/n), as engines want them: the model's own factors times those of the method. n values each.
  std::vector<double> pair_factors;
  std::vector<double> inv_freq;  // base^(-i/n) / pair_factors, radians per token; 0 = stands still
  double attention_scale = 1;    // multiplies cos and sin; includes the model's own
  // The model's own factors; empty for a plain model.
  std::vector<double> trained_factors;
  // The conversion the method makes of the trained table (of pair_factors / trained_factors).
  std::vector<double> lambda;  // n-1 values
  Conversion radix;
  Band band;

  bool operator==(const GroupPlan&) const = default;
};

struct Plan {
  RopeSpec spec;
  Method method;
  std::int64_t context_target = 0;
  double factor = 1;                   // context_target / context_trained, at least 1; S unless the method has its own
  std::optional<std::int64_t> length;  // set for methods with a table per length: the length this table is for
  std::vector<GroupPlan> groups;       // as spec.groups
  std::string source;                  // where the spec came from, for people: a file name; may be empty

  bool operator==(const Plan&) const = default;
};

// S of the plan's table: the method's own factor if it has one.
double table_factor(const Plan& plan);

// The largest extension a plan may ask for. Nothing useful is known beyond 64; this only bounds the arithmetic.
inline constexpr double kMaxFactor = 1 << 20;

// Errors: what check_spec and check_method find; a target outside 1 … kMaxContext or beyond kMaxFactor.
// A target at or below the trained length gives factor 1: the model already reaches it.
// `length` matters only to methods with a table per length; default: the target.
Result<Plan> make_plan(const RopeSpec& spec, std::int64_t context_target, const Method& method,
                       std::optional<std::int64_t> length = std::nullopt);

// ---- Plan files ----------------------------------------------------------------------------------------------------

inline constexpr std::string_view kPlanSchema = "mrrope.plan/1";

// UTF-8 JSON, two-space indent, one list per line, ending in a newline. docs/plan-file.md describes every field.
std::string to_json(const Plan& plan);

// Strict: an unknown, missing, repeated, mistyped or out-of-range field is an error whose `where` is its path
// ("method.params.beta_fast", "pair_factors[17]"). The tables must be those of the method within 1e-9 (a table edited
// by hand belongs in method "custom"); they are kept as the file has them, so to_json(plan_from_json(x)) == x for
// every x that to_json wrote.
Result<Plan> plan_from_json(std::string_view text);

// ---- Judgement -----------------------------------------------------------------------------------------------------

// The plan we would use: the trained table if it reaches the target, else mrrope-pro at the smallest sufficient factor.
Result<Plan> recommend(const RopeSpec& spec, std::int64_t context_target);

// Why a plan is what it is, in sentences for people: the factor, the drift, what stays unseen.
struct Explanation {
  std::vector<std::string> reasons;
  std::vector<std::string> cautions;
  std::string measured;  // of this method near this factor (docs/results); empty: nothing
};
Explanation explain(const Plan& plan);

// exposure() of the plan's first group against what the model was trained with.
Exposure exposure(const Plan& plan);

}  // namespace mrrope

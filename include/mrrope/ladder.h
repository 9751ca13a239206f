// SPDX-License-Identifier: MIT
//
// Ladder: a table for each length of text, so that long texts cost short ones nothing.
//
//   Result<Ladder> ladder = climbing_ladder(*spec, 32768, *parse_climb("climb:mrrope-pro"));
//   context.use(*ladder);                              // runtime.h: the table grows with the text
//
//   Result<std::vector<std::int64_t>> lengths = choose_rungs(*spec, 32768);   // 8192, 16384, 32768
//   Result<Ladder> servers = make_ladder(*spec, *lengths);
//   const Rung* rung = rung_for(*servers, 9000, 512);  // "16k": the lowest that holds prompt and answer
//   std::string file = to_json(*servers);              // a ladder file: docs/ladder.md
//
// Whatever extends a model changes how it reads short texts, too: every token pays for the longest text. A ladder has a
// plan for each length instead, the lowest the model as it is. A runtime that climbs computes each token under the
// lowest rung that holds the text so far, and rotates the cached keys once when the text outgrows a rung (docs/theory.md,
// "A system that grows"). Where no runtime climbs, each rung is a server of its own, each prompt goes to the lowest rung
// that holds it, and a text that outgrows its server is read again.
//
// A ladder is a value like a plan. Functions are pure and safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/plan.h"
#include "mrrope/result.h"

namespace mrrope {

struct Rung {
  std::string name;         // "8k": letters, digits and . _ - only, so that files and servers can have it
  std::int64_t length = 0;  // tokens of prompt and answer that it takes; at most plan.context_target
  Plan plan;
  std::string why;  // how far it moves phases from training, for people

  bool operator==(const Rung&) const = default;
};

struct Ladder {
  std::vector<Rung> rungs;   // by length, ascending; 1 … kMaxRungs of one model
  std::int64_t reserve = 0;  // tokens kept for an answer whose length nobody named; less than the first rung
  std::string source;        // the model's file, for people; may be empty

  bool operator==(const Ladder&) const = default;
};

inline constexpr std::size_t kMaxRungs = 32;  // 64 times the trained length in steps of 1.19 are 25

// The reserve unless one is given: an eighth of the first rung, at most 1024.
inline constexpr std::int64_t kMostReserve = 1024;

// ---- Making one ----------------------------------------------------------------------------------------------------

// A rung that a ladder may have, and what prompts inside the trained length would pay on it: any measure, all of one.
struct RungCandidate {
  std::int64_t length = 0;
  double cost = 0;
};

// At most `most` of the candidates, the ones that cost least in all: the first and the last, and of those between the
// ones that save something, taking a prompt of twice the length to be half as frequent (1/a - 1/b of them are between a
// and b tokens long). Domain: candidates by ascending length, at least one; lengths and `most` >= 1; finite costs >= 0.
std::vector<std::int64_t> cheapest_rungs(const std::vector<RungCandidate>& candidates, std::size_t most);

inline constexpr std::size_t kUsualRungs = 4;

// The lengths of a ladder up to `context_target`: of the trained length, its doubles up to two thirds of the target,
// and the target, those with the least drift (analysis.h), which stands in for a cost. One length where the trained
// table reaches the target. `method`: of what is extended; nothing: recommend(). Errors: as make_plan; `most` outside 1
// … kMaxRungs.
Result<std::vector<std::int64_t>> choose_rungs(const RopeSpec& spec, std::int64_t context_target,
                                               const std::optional<Method>& method = std::nullopt,
                                               std::size_t most = kUsualRungs);

// Rungs of these lengths. Lengths that the model reaches as it is keep its table; the others get `method`, or what
// recommend() gives. Errors: as make_plan, as ladder_of_plans.
Result<Ladder> make_ladder(const RopeSpec& spec, const std::vector<std::int64_t>& lengths,
                           const std::optional<Method>& method = std::nullopt,
                           std::optional<std::int64_t> reserve = std::nullopt);

// A rung per plan, named by its length (plan.context_target).
// Errors: none, or more than kMaxRungs; lengths that do not ascend; plans of different models (`where` is "plans[1]");
// a reserve that leaves the first rung no prompt.
Result<Ladder> ladder_of_plans(std::vector<Plan> plans, std::optional<std::int64_t> reserve = std::nullopt);

// The first thing that is wrong with a ladder, if any; `where` is a path such as "rungs[1].length".
Result<void> check_ladder(const Ladder& ladder);

// ---- Climbing ------------------------------------------------------------------------------------------------------

// The rule for the rungs of a text that grows: the trained length, then equal ratios up to the target, each rung with
// the method at its own factor.
struct Climb {
  Method method = {MrRopePro{}};
  double ratio = 2;  // about this, so that the last step ends at the target: kMinRatio … kMaxRatio

  bool operator==(const Climb&) const = default;
};

inline constexpr double kMinRatio = 1.1;
inline constexpr double kMaxRatio = 64;

// "climb", "climb:mrrope-pro", "climb:ratio=1.41:yarn:beta_fast=16": a method as in catalogue.h, and the ratio beside its
// parameters.
[[nodiscard]] bool names_climb(std::string_view text);
// Errors: as parse_method, and a method that never extends (none). parse_climb(spell(c)) == c.
Result<Climb> parse_climb(std::string_view text);
std::string spell(const Climb& climb);

// Rungs at L, L r, L r^2 … context_target, where L is the trained length and r the ratio nearest to climb.ratio that ends
// there. One rung where the trained table reaches the target. Errors: as make_plan; more than kMaxRungs rungs.
Result<Ladder> climbing_ladder(const RopeSpec& spec, std::int64_t context_target, const Climb& climb = {});

// ---- Using one -----------------------------------------------------------------------------------------------------

// The lowest rung with prompt + answer <= length; nullptr: beyond the last. `answer`: the tokens that were asked for;
// nothing: the reserve, which yields on the last rung: there the answer gets what the prompt leaves, at least one
// token. Domain: a ladder that passes check_ladder, prompt >= 0, answer >= 0; no sum overflows.
const Rung* rung_for(const Ladder& ladder, std::int64_t prompt, std::optional<std::int64_t> answer = std::nullopt);

// ---- Ladder files --------------------------------------------------------------------------------------------------

inline constexpr std::string_view kLadderSchema = "mrrope.ladder/1";

// {"schema", "source", "reserve", "rungs": [{"name", "length", "why", "plan": a plan file}]}. As to_json(Plan).
std::string to_json(const Ladder& ladder);

// As strict as plan_from_json, whose errors have their place in the ladder ("rungs[1].plan.pair_factors[17]").
// to_json(ladder_from_json(x)) == x for every x that to_json wrote.
Result<Ladder> ladder_from_json(std::string_view text);

}  // namespace mrrope

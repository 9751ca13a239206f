// SPDX-License-Identifier: MIT
//
// Finds the plan for a model by measuring: what is searched, how, and when the result may be believed. Measures nothing
// itself: whoever owns the model (llama.cpp in process, transformers in Python) answers what is asked.
//
//   const Result<Space> space = Space::of(spec, 8192);
//   Search search(*space, {.item_tokens = costs, .token_budget = 3'000'000});
//   while (const std::optional<Method> method = search.ask()) {
//     search.tell(losses_of(*method));      // of every item
//   }
//   search.best();                          // never worse than a fixed method on these items
//   const Verdict v = verdict(held_out(search.best()), held_out_fixed, search.best_fixed().name(), Metric::ppl_long);
//   v.recommended;                          // "tuned", or the fixed method to use instead
//
// The search is a function of its options and of what it was told: a run that was interrupted goes on by telling a new
// Search what was recorded (key: spelling of the method, number of the item). docs/tune.md says why it is this search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/methods.h"
#include "mrrope/result.h"
#include "mrrope/spec.h"

namespace mrrope::tune {

// Of the document that says what a search found, tune.json in its folder (docs/tune.md).
inline constexpr std::string_view kTuneSchema = "mrrope.tune/1";

// ---- What is searched ----------------------------------------------------------------------------------------------

enum class Family {
  any_table,  // mrrope-power: power, both ends of the band, attention scale, factor
  // yarn: the band as a whole, attention scale, factor. What llama.cpp's keys say where a model takes no factor tensor
  // (Qwen, Gemma).
  yarn_keys,
};

struct SpaceOptions {
  Family family = Family::any_table;
  // Held at this value: 1 for models whose engine would scale sliding layers, too (Gemma 3 in llama.cpp).
  std::optional<double> attention_scale = std::nullopt;
};

struct Axis {
  std::string_view name;  // "p", "low", "high", "shift", "attention_scale", "factor"
  double low = 0;         // the value at 0 …
  double high = 0;        // … and at 1 of the unit cube
};

// The methods that are tried for one model and length, as points of a unit cube. The same table goes to every group of
// layers that is extended; make_plan leaves sliding ones alone.
class Space {
 public:
  // Errors: what make_plan says; a target within the trained length, where there is nothing to tune.
  static Result<Space> of(const RopeSpec& spec, std::int64_t context_target, const SpaceOptions& options = {});

  [[nodiscard]] std::span<const Axis> axes() const { return axes_; }
  // Coordinates outside 0 … 1 are clamped. Values are rounded to what a loss can tell apart, so that near points are
  // the same method, letter by letter.
  [[nodiscard]] Method at(std::span<const double> point) const;
  // Methods from papers, which a search tries first and must beat.
  [[nodiscard]] std::span<const Method> fixed() const { return fixed_; }
  // The point whose method rotates as this one does; nothing for a method of another law. Values beyond an axis are
  // its end. Of any_table mrrope-pro, mrrope-uni and mrrope-power have one, of yarn_keys yarn.
  [[nodiscard]] std::optional<std::vector<double>> point_of(const Method& method) const;

 private:
  Family family_ = Family::any_table;
  std::optional<double> attention_scale_;
  double base_ = 0;  // of the first group: what one pair of shift means
  int pairs_ = 0;
  double low_ = 0, high_ = 0;  // the default band …
  double scale_ = 1;           // … attention scale
  double factor_ = 1;          // … and factor: what a method has that names none
  std::vector<Axis> axes_;
  std::vector<Method> fixed_;
};

// ---- The search ----------------------------------------------------------------------------------------------------

// Of one item (a text, a prompt) under one method, lower is better: what it lost beyond the trained length, and within.
// An item that says nothing about one of them has 0 there for every method. Whoever measures sets the units, so that
// the means over items are what should fall.
struct Loss {
  double beyond = 0;
  double within = 0;
};

// What a user cares for: the weight of `within` is 0.1, 0.5 or 0.9.
enum class Prefer { long_texts, balanced, short_texts };
double preferred(const Loss& loss, Prefer prefer);
const char* to_string(Prefer prefer) noexcept;  // "long", "balanced", "short"

struct Candidate {
  Method method;
  std::vector<double> point;  // of the space; empty: it lies outside
  std::vector<Loss> losses;   // of every item; empty: not yet measured
  bool fixed = false;
  [[nodiscard]] Loss mean() const;  // Domain: losses are not empty
  [[nodiscard]] std::string name() const;
};

struct SearchOptions {
  std::size_t items = 0;
  std::int64_t tokens = 0;  // that one method costs
  // Ends the search; the fixed methods are measured whatever it says.
  std::int64_t token_budget = 0;
  Prefer prefer = Prefer::long_texts;
  std::uint64_t seed = 1;
};

// First the fixed methods. Then a step along each axis from the best of those that lie in the cube. Then, again and
// again, the lowest point near the best one, of a smooth surface through all that was measured: "near" grows with
// success and shrinks without.
class Search {
 public:
  // Domain: items and tokens are positive.
  Search(Space space, SearchOptions options);

  // The same answer until tell() is called; nothing when the budget is spent or nothing new can be tried.
  [[nodiscard]] const std::optional<Method>& ask() const;
  // Domain: ask() wants something; a loss for every item, all finite.
  void tell(std::vector<Loss> losses);

  [[nodiscard]] std::span<const Candidate> candidates() const;  // the fixed ones first
  [[nodiscard]] std::int64_t tokens() const;                    // told so far
  // Of the measured candidates, by preference; of equals the first, so that a fixed method wins a draw.
  // Domain: at least one fixed method is measured.
  [[nodiscard]] const Candidate& best() const;
  [[nodiscard]] const Candidate& best_fixed() const;

  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- What came out -------------------------------------------------------------------------------------------------

// The measured candidates that no other beats on one side without losing on the other, by `within`; indices.
std::vector<std::size_t> front(std::span<const Candidate> candidates);

enum class Metric { ppl_long, ppl_short, answer_nll, score };
const char* to_string(Metric metric) noexcept;  // "ppl_long"

// Held-out losses of one method: -ln p per token of each text, -ln p of each answer, or the score of each answer, 0
// … 1. The k-th item is the same for all methods.
struct Measured {
  std::string name = {};
  std::vector<double> ppl_long = {}, ppl_short = {}, answer_nll = {}, score = {};
};

// Tuned minus fixed. Of perplexities the relative difference (-0.03: 3 % lower), else that of the means.
struct Difference {
  std::string against;
  Metric metric = Metric::ppl_long;
  double difference = 0;
  double low = 0, high = 0;  // at least 95 %, as far to both sides
  std::size_t items = 0;
  bool better = false, worse = false;  // 0 lies outside the interval, and there are at least three items
};

struct Verdict {
  std::vector<Difference> differences;  // for every fixed method and metric with at least two items
  std::string recommended;              // "tuned" or best_fixed
};

// `tuned` is recommended only if it is better than `best_fixed` by the deciding metric, and not worse at answers. Which
// fixed method is the best must come from the tuning data, as `tuned` did: one comparison is made, so that there is no
// best of many to be fooled by. Domain: best_fixed is among the fixed ones; lists of one metric are equally long, or
// empty where a fixed method was not measured.
Verdict verdict(const Measured& tuned, std::span<const Measured> fixed, std::string_view best_fixed, Metric deciding);

}  // namespace mrrope::tune

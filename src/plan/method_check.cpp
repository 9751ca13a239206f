// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "mrrope/catalogue.h"
#include "mrrope/units.h"
#include "plan/method_fields.h"

namespace mrrope {

namespace {

using plan::Field;

// Collects the first complaint; later ones would only repeat it.
class Checker {
 public:
  Checker(int pairs, std::string path) : pairs_(pairs), path_(std::move(path)) {}

  void operator()(const Field& field, double value) { check_range(field, value, std::string(field.name)); }
  void operator()(const Field& /*field*/, bool /*value*/) {}
  template <class T>
  void operator()(const Field& field, const std::optional<T>& value) {
    if (value) check_range(field, *value, std::string(field.name));
  }
  void operator()(const Field& field, const std::vector<double>& values) {
    if (values.size() != static_cast<std::size_t>(pairs_)) {
      complain(std::string(field.name),
               fmt::format("expected {} factors, one per rotated pair, found {}", pairs_, values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      check_range(field, values[i], fmt::format("{}[{}]", field.name, i));
    }
  }

  void require(bool holds, std::string_view field, const std::string& message) {
    if (!holds) complain(std::string(field), message);
  }

  [[nodiscard]] const Result<void>& outcome() const { return outcome_; }

 private:
  void check_range(const Field& field, double value, const std::string& name) {
    if (value >= field.min && value <= field.max) return;  // false for NaN
    if (field.required && value == 0) {
      complain(name, fmt::format("missing: {}", field.meaning));
    } else {
      complain(name, fmt::format("expected a value between {} and {}, found {}", format_number(field.min),
                                 format_number(field.max), format_number(value)));
    }
  }

  void complain(const std::string& field, std::string message) {
    if (outcome_) outcome_ = Error{ErrorCode::invalid_argument, std::move(message), path_ + "params." + field};
  }

  int pairs_;
  std::string path_;
  Result<void> outcome_;
};

template <class L>
void check_relations(Checker& check, const L& law, int pairs) {
  if constexpr (requires { law.band; }) {
    const BandEdges& b = law.band;
    check.require(b.beta_fast >= b.beta_slow, "beta_fast", "expected at least as many turns as beta_slow");
    check.require(!b.low || !b.high || *b.low <= *b.high, "low", "expected a pair at or below high");
  } else if constexpr (requires { law.beta_fast; }) {
    check.require(law.beta_fast >= law.beta_slow, "beta_fast", "expected at least as many turns as beta_slow");
  } else if constexpr (std::is_same_v<L, Llama3>) {
    check.require(law.high_freq_factor >= law.low_freq_factor, "high_freq_factor", "expected at least low_freq_factor");
  } else if constexpr (std::is_same_v<L, Cope>) {
    check.require(law.pairs.value_or(0) <= pairs, "pairs", fmt::format("expected at most the {} rotated pairs", pairs));
  } else if constexpr (std::is_same_v<L, Clip>) {
    check.require(law.keep.value_or(0) <= pairs, "keep", fmt::format("expected at most the {} rotated pairs", pairs));
  }
}

template <class Variant>
Result<void> check_alternative(const Variant& alternative, int pairs, const std::string& path) {
  Checker check(pairs, path);
  std::visit(
      [&](const auto& law) {
        plan::visit_fields(law, check);
        check_relations(check, law, pairs);
      },
      alternative);
  return check.outcome();
}

}  // namespace

Result<void> check_method(const Method& method, int pairs) {
  if (const auto ok = check_alternative(method.law, pairs, ""); !ok) return ok.error();
  Checker check(pairs, "");
  plan::visit_shared(method, check);
  check.require(!method.factor || reads_factor(method.law), plan::fields::kFactor.name,
                "the table of this method has no factor in it");
  if (!check.outcome()) return check.outcome();
  for (std::size_t i = 0; i < method.modifiers.size(); ++i) {
    if (const auto ok = check_alternative(method.modifiers[i], pairs, fmt::format("modifiers[{}].", i)); !ok)
      return ok.error();
  }
  return {};
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "mrrope/catalogue.h"
#include "mrrope/plan.h"
#include "mrrope/units.h"

namespace mrrope {

namespace {

constexpr double kMaxBase = 1e15;

Error invalid(std::string where, std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(where)};
}

Result<void> check_trained(const TrainedScaling& trained, std::int64_t context_trained, int pairs) {
  if (!(trained.factor >= 1 && trained.factor <= kMaxFactor)) {
    return invalid("trained.factor", "expected a factor between 1 and 2^20, found " + format_number(trained.factor));
  }
  if (trained.context_original < 1 || trained.context_original > context_trained) {
    return invalid("trained.context_original",
                   fmt::format("expected a length between 1 and the trained {} tokens, found {}", context_trained,
                               trained.context_original));
  }
  if (trained.method.factor) return invalid("trained.method.params.factor", "expected it as trained.factor");
  if (const auto ok = check_method(trained.method, pairs); !ok) {
    return Error{ok.error().code, ok.error().message, "trained.method." + ok.error().where};
  }
  return {};
}

Result<void> check_group(const LayerGroup& group, std::int64_t context_trained) {
  if (group.rotary_dim < 2 || group.rotary_dim > kMaxRotaryDim || group.rotary_dim % 2 != 0) {
    return invalid("rotary_dim",
                   fmt::format("expected an even number between 2 and {}, found {}", kMaxRotaryDim, group.rotary_dim));
  }
  if (!(group.base > 1 && group.base <= kMaxBase)) {
    return invalid("base", "expected a base above 1 and up to 1e15, found " + format_number(group.base));
  }
  if (!std::is_sorted(group.layers.begin(), group.layers.end()) ||
      std::adjacent_find(group.layers.begin(), group.layers.end()) != group.layers.end()) {
    return invalid("layers", "expected increasing layer numbers");
  }
  if (!group.layers.empty() && (group.layers.front() < 0 || group.layers.back() >= kMaxLayers)) {
    return invalid("layers", fmt::format("expected layer numbers between 0 and {}", kMaxLayers - 1));
  }
  if (group.trained) return check_trained(*group.trained, context_trained, group.rotary_dim / 2);
  return {};
}

}  // namespace

Result<void> check_spec(const RopeSpec& spec) {
  // L/2pi > 1 keeps every logarithm of the theory positive: below 7 tokens not even the fastest pair makes a turn.
  constexpr std::int64_t shortest = 7;
  if (spec.context_trained < shortest || spec.context_trained > kMaxContext) {
    return invalid("context_trained", fmt::format("expected a length between {} and 2^40 tokens, found {}", shortest,
                                                  spec.context_trained));
  }
  if (spec.groups.empty() || spec.groups.size() > kMaxGroups) {
    return invalid("groups",
                   fmt::format("expected 1 to {} groups of layers, found {}", kMaxGroups, spec.groups.size()));
  }
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    if (const auto ok = check_group(spec.groups[g], spec.context_trained); !ok) {
      return Error{ok.error().code, ok.error().message, fmt::format("groups[{}].{}", g, ok.error().where)};
    }
  }
  if (!spec.groups[0].extended) return invalid("groups[0].extended", "expected the first group to be the extended one");
  return {};
}

bool has_windows(const RopeSpec& spec) {
  return std::any_of(spec.groups.begin(), spec.groups.end(), [](const LayerGroup& group) { return !group.extended; });
}

Table trained_table(const RopeSpec& spec, std::size_t group) {
  const LayerGroup& g = spec.groups[group];
  if (!g.trained) return {std::vector<double>(static_cast<std::size_t>(g.rotary_dim / 2), 1.0), 1};
  const Spectrum original = plain_spectrum(g.rotary_dim, g.base, static_cast<double>(g.trained->context_original));
  return table(original, g.trained->factor, g.trained->method, static_cast<double>(spec.context_trained));
}

Spectrum spectrum_of(const RopeSpec& spec, std::size_t group) {
  const LayerGroup& g = spec.groups[group];
  Spectrum plain = plain_spectrum(g.rotary_dim, g.base, static_cast<double>(spec.context_trained));
  return g.trained ? scaled_spectrum(std::move(plain), trained_table(spec, group).pair_factors) : plain;
}

// ---- "dim=128,base=10000,ctx=4096" ---------------------------------------------------------------------------------

namespace {

struct SpecText {
  RopeSpec spec{.groups = {LayerGroup{}}};
  TrainedScaling trained;
  bool has_scaling = false;

  Result<void> set(std::string_view key, std::string_view value) {
    LayerGroup& group = spec.groups[0];
    if (key == "name") {
      spec.name = value;
      return {};
    }
    if (key == "ctx") return set_context(value, spec.context_trained);
    if (key == "scaling_ctx") return set_context(value, trained.context_original);
    if (key == "scaling") {
      const Result<Method> method = parse_method(value);
      if (!method) return method.error();
      trained.method = *method;
      has_scaling = true;
      return {};
    }
    const Result<double> number = parse_number(value);
    if (!number) return number.error();
    if (key == "base") group.base = *number;
    if (key == "scaling_factor") trained.factor = *number;
    if (key == "dim") {
      if (*number != std::floor(*number) || std::fabs(*number) > kMaxRotaryDim) {
        return Error{ErrorCode::invalid_argument,
                     fmt::format("expected an even number between 2 and {}, found {}", kMaxRotaryDim, value), ""};
      }
      group.rotary_dim = static_cast<int>(*number);
    }
    return {};
  }

  static Result<void> set_context(std::string_view value, std::int64_t& tokens) {
    const Result<std::int64_t> parsed = parse_context(value);
    if (!parsed) return parsed.error();
    tokens = *parsed;
    return {};
  }
};

// The key a person typed for a field of the checked spec, so that errors speak their language.
std::string spec_key(const std::string& where) {
  using Name = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Name, 6> names = {Name{"rotary_dim", "dim"},
                                         Name{"groups[0].base", "base"},
                                         Name{"context_trained", "ctx"},
                                         Name{"trained.factor", "scaling_factor"},
                                         Name{"context_original", "scaling_ctx"},
                                         Name{"trained.method", "scaling"}};
  for (const auto& [field, key] : names) {
    if (where.find(field) != std::string::npos) return std::string(key);
  }
  return where;
}

}  // namespace

Result<RopeSpec> parse_spec(std::string_view text) {
  static constexpr std::array<std::string_view, 7> kKeys = {"dim",     "base",           "ctx",        "name",
                                                            "scaling", "scaling_factor", "scaling_ctx"};
  SpecText parsed;
  std::vector<std::string_view> seen;
  for (const std::string_view part : base::split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (equals == std::string_view::npos) {
      return Error{ErrorCode::malformed,
                   "expected key=value parts such as dim=128,base=10000,ctx=4096, found \"" + std::string(part) + "\"",
                   ""};
    }
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
      return Error{ErrorCode::invalid_argument,
                   "unknown key \"" + std::string(key) + "\" (known: " + base::join(kKeys) + ")", ""};
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return Error{ErrorCode::malformed, "given twice", std::string(key)};
    }
    seen.push_back(key);
    if (const auto ok = parsed.set(key, part.substr(equals + 1)); !ok) {
      const Error& error = ok.error();
      return Error{error.code, error.message, std::string(key) + (error.where.empty() ? "" : "." + error.where)};
    }
  }
  for (const std::string_view key : {"dim", "base", "ctx"}) {
    if (std::find(seen.begin(), seen.end(), key) == seen.end()) {
      return Error{ErrorCode::invalid_argument, "missing; a spec needs dim, base and ctx", std::string(key)};
    }
  }
  const auto given = [&](std::string_view key) { return std::find(seen.begin(), seen.end(), key) != seen.end(); };
  if (parsed.has_scaling != given("scaling_ctx") || parsed.has_scaling != given("scaling_factor")) {
    return Error{ErrorCode::invalid_argument,
                 "a scaling of the model's own needs all of scaling, scaling_factor and scaling_ctx", "scaling"};
  }
  if (parsed.has_scaling) parsed.spec.groups[0].trained = parsed.trained;
  if (const auto ok = check_spec(parsed.spec); !ok) {
    return Error{ok.error().code, ok.error().message, spec_key(ok.error().where)};
  }
  return std::move(parsed.spec);
}

}  // namespace mrrope

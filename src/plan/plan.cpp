// SPDX-License-Identifier: MIT
#include "mrrope/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/units.h"

namespace mrrope {

namespace {

GroupPlan plan_group(const RopeSpec& spec, std::size_t index, double factor, const Method& method, double length) {
  const LayerGroup& group = spec.groups[index];
  const Spectrum plain = plain_spectrum(group.rotary_dim, group.base, static_cast<double>(spec.context_trained));

  // What the model learned, then what the method makes of it
  GroupPlan plan;
  double trained_scale = 1;
  Spectrum learned = plain;
  if (group.trained) {
    Table trained = trained_table(spec, index);
    learned = scaled_spectrum(plain, trained.pair_factors);
    plan.trained_factors = std::move(trained.pair_factors);
    trained_scale = trained.attention_scale;
  }
  const Method& applied = group.extended ? method : Method{};
  Table extension = table(learned, factor, applied, length);
  plan.band = band_of(learned, applied);
  plan.radix = classify(extension.pair_factors);
  plan.lambda = radix_factors(extension.pair_factors);

  // [T36] The total, relative to base^(-i/n)
  plan.attention_scale = trained_scale * extension.attention_scale;
  plan.pair_factors = std::move(extension.pair_factors);
  for (std::size_t i = 0; i < plan.trained_factors.size(); ++i) {
    plan.pair_factors[i] = std::min(kNoRotation, plan.pair_factors[i] * plan.trained_factors[i]);
  }
  plan.inv_freq = inv_freq(plain, plan.pair_factors);
  return plan;
}

}  // namespace

Result<Plan> make_plan(const RopeSpec& spec, std::int64_t context_target, const Method& method,
                       std::optional<std::int64_t> length) {
  if (const auto ok = check_spec(spec); !ok) {
    return Error{ok.error().code, ok.error().message, "spec." + ok.error().where};
  }
  for (const LayerGroup& group : spec.groups) {
    if (!group.extended) continue;
    if (const auto ok = check_method(method, group.rotary_dim / 2); !ok) {
      return Error{ok.error().code, ok.error().message, "method." + ok.error().where};
    }
  }
  if (context_target < 1 || context_target > kMaxContext) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected a length between 1 and 2^40 tokens, found {}", context_target),
                 "context_target"};
  }
  const double factor = std::max(1.0, static_cast<double>(context_target) / static_cast<double>(spec.context_trained));
  if (factor > kMaxFactor) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} tokens is more than 2^20 times the trained {}", context_target, spec.context_trained),
                 "context_target"};
  }
  if (length && (*length < 1 || *length > kMaxContext)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected a length between 1 and 2^40 tokens, found {}", *length), "length"};
  }

  Plan plan{.spec = spec,
            .method = method,
            .context_target = context_target,
            .factor = factor,
            .length = {},
            .groups = {},
            .source = {}};
  if (depends_on_length(method)) plan.length = length.value_or(context_target);
  const auto table_length = static_cast<double>(plan.length.value_or(context_target));
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    plan.groups.push_back(plan_group(spec, g, factor, method, table_length));
  }
  return plan;
}

double table_factor(const Plan& plan) { return plan.method.factor.value_or(plan.factor); }

Exposure exposure(const Plan& plan) {
  const GroupPlan& group = plan.groups[0];
  std::vector<double> extension = group.pair_factors;
  for (std::size_t i = 0; i < group.trained_factors.size(); ++i) extension[i] /= group.trained_factors[i];
  return exposure(spectrum_of(plan.spec, 0), extension, plan.factor);
}

}  // namespace mrrope

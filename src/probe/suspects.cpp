// SPDX-License-Identifier: MIT
#include "probe/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"

namespace mrrope::probe {

namespace {

// What people serve, in the order in which equal explanations are named.
const std::array<Method, 6> kServed = {Yarn{}, MrRopePro{}, MrRopeUni{}, YarnRotations{}, Ntk{}, Linear{}};
constexpr std::array<double, 4> kFactors = {2, 4, 8, 16};
constexpr double kLargestGuess = 64;
constexpr double kNearFactor = 0.25;

}  // namespace

std::string name_of(const Plan& plan) {
  return reads_factor(plan.method.law) ? fmt::format("{} x{:.4g}", brief(plan.method), table_factor(plan))
                                       : brief(plan.method);
}

std::optional<Suspect> suspect(const RopeSpec& spec, const Method& method, double factor) {
  const auto target = static_cast<std::int64_t>(std::llround(factor * static_cast<double>(spec.context_trained)));
  Result<Plan> plan = make_plan(spec, target, method);
  if (!plan) return std::nullopt;
  std::string name = name_of(*plan);
  return Suspect{std::move(name), *std::move(plan)};
}

double as_people_set(double factor) {
  const double whole = std::round(factor);
  if (std::abs(factor / whole - 1) < 0.02) return whole;
  const double tenth = std::round(10 * factor) / 10;
  return std::abs(factor / tenth - 1) < 0.01 ? tenth : factor;
}

bool same_table(const Plan& a, const Plan& b) {
  if (a.groups.size() != b.groups.size()) return false;
  const auto near = [](double x, double y) {
    return std::abs(x - y) <= kSameTable * std::max(std::abs(x), std::abs(y));
  };
  for (std::size_t g = 0; g < a.groups.size(); ++g) {
    if (!near(a.groups[g].attention_scale, b.groups[g].attention_scale)) return false;
    if (!std::equal(a.groups[g].inv_freq.begin(), a.groups[g].inv_freq.end(), b.groups[g].inv_freq.begin(),
                    b.groups[g].inv_freq.end(), near)) {
      return false;
    }
  }
  return true;
}

bool near(const Plan& a, const Plan& b) {
  return a.method.law == b.method.law && std::abs(std::log(table_factor(a) / table_factor(b))) < kNearFactor;
}

std::vector<Suspect> suspects(const RopeSpec& spec, const SuspectOptions& options) {
  std::vector<Suspect> out = options.also;
  const auto add = [&](const Method& method, double factor) {
    std::optional<Suspect> one = suspect(spec, method, factor);
    const auto same = [&](const Suspect& other) { return same_table(other.plan, one->plan); };
    if (one && std::none_of(out.begin(), out.end(), same)) out.push_back(*std::move(one));
  };
  add(None{}, 1);
  std::vector<double> factors(kFactors.begin(), kFactors.end());
  if (options.advertised) {
    const double factor = static_cast<double>(*options.advertised) / static_cast<double>(spec.context_trained);
    if (factor > 1 && factor <= kLargestGuess) factors.insert(factors.begin(), factor);
  }
  for (const double factor : factors) {
    for (const Method& method : kServed) add(method, factor);
  }
  return out;
}

std::optional<Suspect> rescaled(const Suspect& one, double times) {
  Method method = one.plan.method;
  method.attention_scale = one.plan.groups.front().attention_scale * times;
  Result<Plan> plan = make_plan(one.plan.spec, one.plan.context_target, method);
  if (!plan) return std::nullopt;
  return Suspect{one.name, *std::move(plan)};
}

std::vector<Suspect> neighbours(const Suspect& one, bool other_factors) {
  const double factor = std::max(1.0, table_factor(one.plan));
  std::vector<Method> methods(kServed.begin(), kServed.end());
  methods.insert(methods.end(), {MrRopePower{.p = 2}, MrRopePower{.p = 3}, MrRopeMirror{}, NtkByParts{}, Llama3{}});
  std::vector<Suspect> out;
  for (const Method& method : methods) {
    for (const double times : {0.5, 0.7, 1.0, 1.4, 2.0}) {
      if (factor * times <= 1.2 || (times != 1 && !other_factors)) continue;
      if (std::optional<Suspect> near = suspect(one.plan.spec, method, factor * times)) out.push_back(*std::move(near));
    }
  }
  return out;
}

std::optional<Suspect> at_factor(const Suspect& one, double factor) {
  if (!reads_factor(one.plan.method.law)) return std::nullopt;
  Method method = one.plan.method;
  method.factor.reset();
  return suspect(one.plan.spec, method, factor);
}

double scale_of_law(const Plan& plan) {
  Method own = plan.method;
  own.attention_scale.reset();
  const Result<Plan> of_law = make_plan(plan.spec, plan.context_target, own);
  return (of_law ? *of_law : plan).groups.front().attention_scale;
}

std::optional<Suspect> as_much_off_at(const Suspect& one, double factor) {
  if (!reads_factor(one.plan.method.law)) return std::nullopt;
  Method law = one.plan.method;
  law.factor.reset();
  law.attention_scale.reset();
  std::optional<Suspect> other = suspect(one.plan.spec, law, factor);
  if (!other || !one.plan.method.attention_scale) return other;
  return rescaled(*other, one.plan.groups.front().attention_scale / scale_of_law(one.plan));
}

std::vector<Suspect> nearest_factors(const Suspect& one) {
  std::vector<Suspect> out;
  const double factor = table_factor(one.plan);
  for (const double near :
       {std::floor(factor), std::ceil(factor), factor / 1.07, factor * 1.07, factor / 1.15, factor * 1.15}) {
    if (near <= 1 || std::abs(near / factor - 1) > 0.2) continue;
    if (std::optional<Suspect> other = at_factor(one, near)) out.push_back(*std::move(other));
  }
  return out;
}

}  // namespace mrrope::probe

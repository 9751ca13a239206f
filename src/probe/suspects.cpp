// SPDX-License-Identifier: MIT
#include "probe/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/linear_system.h"
#include "mrrope/catalogue.h"

namespace mrrope::probe {

namespace {

// What people serve, in the order in which equal explanations are named.
const std::array<Method, 6> kServed = {Yarn{}, MrRopePro{}, MrRopeUni{}, YarnRotations{}, Ntk{}, Linear{}};
constexpr std::array<double, 4> kFactors = {2, 4, 8, 16};
constexpr double kLargestGuess = 64;
// Slopes hold near the plan they were taken at: so much of a step is not relied on.
constexpr double kBend = 0.3;

std::string name_of(const Method& method, double factor) {
  return reads_factor(method.law) ? fmt::format("{} x{:.4g}", brief(method), factor) : brief(method);
}

std::optional<Suspect> suspect(const RopeSpec& spec, const Method& method, double factor) {
  const auto target = static_cast<std::int64_t>(std::llround(factor * static_cast<double>(spec.context_trained)));
  Result<Plan> plan = make_plan(spec, target, method);
  if (!plan) return std::nullopt;
  return Suspect{name_of(method, factor), *std::move(plan)};
}

// People set 4 and 3.5, not 3.987.
double as_people_set(double factor) {
  const double whole = std::round(factor);
  if (std::abs(factor / whole - 1) < 0.02) return whole;
  const double half = std::round(2 * factor) / 2;
  return std::abs(factor / half - 1) < 0.01 ? half : factor;
}

// Squared distance of a place from what was found, in standard errors.
double misfit(const std::vector<double>& place, const Slopes& found, std::size_t from) {
  std::vector<std::vector<double>> spread;
  std::vector<double> away;
  for (std::size_t i = from; i < place.size(); ++i) {
    away.push_back(place[i] - found.step[i]);
    spread.emplace_back(found.covariance[i].begin() + static_cast<std::ptrdiff_t>(from), found.covariance[i].end());
    spread.back()[i - from] += std::pow(kBend * found.step[i], 2) + 1e-8;
  }
  const std::vector<double> weighed = base::solved(spread, away);
  double sum = 0;
  for (std::size_t i = 0; i < away.size(); ++i) sum += away[i] * weighed[i];
  return sum;
}

}  // namespace

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

std::vector<Suspect> guesses(const Suspect& from, const Directions& directions, const Slopes& found) {
  constexpr double kStep = 1.02;
  constexpr std::size_t kMost = 3;
  struct Guess {
    double misfit;
    Method method;
    double factor;
  };
  const RopeSpec& spec = from.plan.spec;
  std::vector<Guess> best;
  std::vector<Method> methods(kServed.begin(), kServed.end());
  methods.insert(methods.end(), {NtkByParts{}, Llama3{}, MrRopeMirror{}});
  for (const Method& method : methods) {
    Guess nearest{INFINITY, method, 1};
    for (double factor = 1; factor <= kLargestGuess; factor *= kStep) {
      const std::optional<Suspect> one = suspect(spec, method, factor);
      if (!one) continue;
      const double far = misfit(place_of(one->plan, from.plan, directions), found, 0);
      if (far < nearest.misfit) nearest = {far, method, factor};
    }
    best.push_back(nearest);
  }
  std::stable_sort(best.begin(), best.end(), [](const Guess& a, const Guess& b) { return a.misfit < b.misfit; });
  std::vector<Suspect> out;
  for (const Guess& guess : best) {
    if (out.size() == kMost) break;
    if (std::optional<Suspect> one = suspect(spec, guess.method, as_people_set(guess.factor))) out.push_back(*one);
  }
  Method rescaled = from.plan.method;
  rescaled.attention_scale = from.plan.groups.front().attention_scale * (1 + found.step.front());
  if (Result<Plan> plan = make_plan(spec, from.plan.context_target, rescaled)) {
    out.push_back({from.name, *std::move(plan)});
  }
  return out;
}

}  // namespace mrrope::probe

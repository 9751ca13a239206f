// SPDX-License-Identifier: MIT
#include "mrrope/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "mrrope/catalogue.h"
#include "targets/attempt.h"
#include "targets/windows.h"

namespace mrrope {

namespace {

struct Candidate {
  Plan plan;
  std::string words;
  double table = 0;
  double scale = 0;

  [[nodiscard]] double off() const { return std::max(table, scale); }
};

// A model that ships YaRN, by one YaRN from its first length: what an engine's keys can say. Relative to what it was
// trained with that is a list of factors.
std::optional<std::pair<Method, std::string>> one_yarn(const Plan& wanted) {
  const std::optional<TrainedScaling>& trained = wanted.spec.groups.front().trained;
  if (!trained || !std::holds_alternative<Yarn>(trained->method.law)) return std::nullopt;
  const LayerGroup& group = wanted.spec.groups.front();
  const Spectrum plain = plain_spectrum(group.rotary_dim, group.base, static_cast<double>(trained->context_original));
  const double factor = trained->factor * wanted.factor;
  const Table own = trained_table(wanted.spec, 0);
  const Table whole = table(plain, factor, trained->method);
  Custom law;
  for (std::size_t i = 0; i < own.pair_factors.size(); ++i)
    law.factors.push_back(whole.pair_factors[i] / own.pair_factors[i]);
  return std::pair{Method{std::move(law), {}, whole.attention_scale / own.attention_scale},
                   fmt::format("one yarn, factor {:.6g} from {}", factor, trained->context_original)};
}

// What files can say in other ways than by a table, each with the scale that is wanted and without one.
std::vector<std::pair<Method, std::string>> others(const Plan& wanted) {
  std::vector<std::pair<Method, std::string>> methods;
  const double own = trained_table(wanted.spec, 0).attention_scale;
  const double scale = wanted.groups.front().attention_scale / own;
  const auto add = [&](Method method) {
    std::string words = brief(method);
    methods.emplace_back(std::move(method), std::move(words));
  };
  if (auto more = one_yarn(wanted)) {
    methods.push_back(*more);
    more->first.attention_scale = scale;
    methods.push_back(*std::move(more));
  }
  const std::vector<Law> laws = {wanted.method.law, Yarn{}, Ntk{}, Linear{}};
  for (const Law& law : laws) {
    Method method;
    method.law = law;
    add(method);
    method.attention_scale = scale;
    add(method);
    method.attention_scale = 1;
    add(method);
  }
  return methods;
}

bool is_trained_table(const Plan& plan) {
  return std::holds_alternative<None>(plan.method.law) && plan.method.modifiers.empty() && !plan.method.attention_scale;
}

std::string window_sentence(std::int64_t window) {
  return fmt::format(
      "Only layers with a window of {} tokens rotate in this model; the others know no positions. No table limits its "
      "length",
      window);
}

// Over the layers that are extended.
void compare(const Plan& wanted, Candidate& candidate) {
  const std::vector<EffectiveGroup> a = effective_groups(candidate.plan);
  const std::vector<EffectiveGroup> b = effective_groups(wanted);
  for (std::size_t g = 0; g < std::min(a.size(), b.size()); ++g) {
    if (!wanted.spec.groups[g].extended) continue;
    const GroupDifference off = group_difference(a[g], b[g]);
    candidate.table = std::max(candidate.table, off.table);
    candidate.scale = std::max(candidate.scale, off.scale);
  }
}

// Nearest first.
std::vector<Candidate> candidates(const Plan& wanted) {
  std::vector<Candidate> out;
  for (auto& [method, words] : others(wanted)) {
    if (method == wanted.method) continue;
    Result<Plan> plan = make_plan(wanted.spec, wanted.context_target, method);
    if (!plan) continue;
    plan->source = wanted.source;
    Candidate candidate{.plan = *std::move(plan), .words = std::move(words)};
    compare(wanted, candidate);
    out.push_back(std::move(candidate));
  }
  std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return a.off() < b.off(); });
  return out;
}

}  // namespace

std::string_view default_engine(const ModelFile& model) { return model.gguf() != nullptr ? "llama.cpp" : kUniversal; }

Result<Plan> recommend(const ModelFile& model, std::int64_t context_target) {
  const Result<RopeSpec> spec = rope_spec(model);
  if (!spec) return spec.error();
  const bool windows = context_target > spec->context_trained && targets::only_window(model) > 0;
  Result<Plan> plan = windows ? make_plan(*spec, context_target, None{}) : recommend(*spec, context_target);
  if (plan) plan->source = model.path;
  return plan;
}

Result<Choice> choose(const ModelFile& model, const Plan& wanted, std::string_view engine,
                      const DeliverOptions& options) {
  if (engine.empty()) engine = default_engine(model);
  Choice choice{.plan = wanted, .wanted = wanted, .words = brief(wanted.method), .why = {}};
  const Result<Delivery> delivery = deliver(engine, wanted, model, options);
  if (delivery) {
    const std::int64_t window = is_trained_table(wanted) && wanted.factor > 1 ? targets::only_window(model) : 0;
    if (window > 0) choice.why = window_sentence(window);
    return choice;
  }
  if (delivery.error().code != ErrorCode::unsupported || wanted.factor <= 1) return delivery.error();
  for (Candidate& candidate : candidates(wanted)) {
    if (!deliver(engine, candidate.plan, model, options)) continue;
    choice.plan = std::move(candidate.plan);
    choice.words = std::move(candidate.words);
    choice.why = targets::without_nearest(delivery.error().message);
    choice.table = candidate.table;
    choice.scale = candidate.scale;
    return choice;
  }
  return delivery.error();
}

std::string describe(const Choice& choice) {
  if (choice.why.empty()) return "";
  if (choice.as_wanted()) return choice.why + ": the longer length is all that is written.";
  std::string text = fmt::format("{}. Nearest it runs: {}, at most {:.1f} % from {} in the speed of a pair", choice.why,
                                 choice.words, 100 * choice.table, brief(choice.wanted.method));
  if (choice.scale > targets::kExact) text += fmt::format(" and {:.1f} % in the attention scale", 100 * choice.scale);
  return text + ".";
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// A plan in the keys and tensors of a GGUF, so that llama.cpp rotates by it.
//
// Two ways. Where the architecture takes factor tensors, any table fits: the factors themselves, attn_factor for the
// magnitude, scaling type "none" so that nothing else acts on top. Elsewhere only what keys can say: another base, one
// linear factor, or YaRN with its default ends. Whatever is chosen is checked by predicting what llama.cpp will do with
// the edited file; a plan that would not come out is refused, with the nearest one that would.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"
#include "targets/attempt.h"
#include "targets/deviation.h"
#include "targets/llama_cpp.h"
#include "theory/laws.h"

namespace mrrope::targets {

namespace {

using formats::GgufRope;

std::vector<float> floats(const std::vector<double>& values) {
  std::vector<float> out;
  out.reserve(values.size());
  for (const double v : values) out.push_back(static_cast<float>(v));
  return out;
}

// Keys are only ever set, never removed, so that undoing an edit in place gives the old bytes back.
class KeyEdits {
 public:
  KeyEdits(const GgufRope& rope, std::string architecture) : rope_(rope), prefix_(std::move(architecture) + ".") {}

  void context(const Plan& plan) { context(plan.context_target, plan.spec.context_trained); }
  void context(std::int64_t length, std::int64_t original) {
    edits.set(prefix_ + "context_length", GgufValue::u32(static_cast<std::uint32_t>(length)));
    // Where the temperature of queries hangs on this key, it keeps what llama.cpp takes it for
    if (rope_.original_sets_temperature) original = rope_.context_original;
    edits.set(prefix_ + "rope.scaling.original_context_length", GgufValue::u32(static_cast<std::uint32_t>(original)));
  }
  void scaling(const char* type, double factor) {
    edits.set(prefix_ + "rope.scaling.type", GgufValue::text(type));
    // A stale factor would act (or mislead another reader); one that is absent may stay absent.
    if (factor != 1 || rope_.scaling_factor != 1) {
      edits.set(prefix_ + "rope.scaling.factor", GgufValue::f32(static_cast<float>(factor)));
    }
  }
  void magnitude(double scale) {
    if (scale != 1 || rope_.attn_factor != 1) {
      edits.set(prefix_ + "rope.scaling.attn_factor", GgufValue::f32(static_cast<float>(scale)));
    }
  }
  void base(double value) {
    edits.set(prefix_ + "rope.freq_base", GgufValue::f32(static_cast<float>(value)));
    if (rope_.sliding && rope_.sliding->source == formats::SlidingBase::inherit) {
      edits.set(prefix_ + "rope.freq_base_swa", GgufValue::f32(static_cast<float>(rope_.sliding->base)));
    }
  }

  GgufEdits edits;

 private:
  const GgufRope& rope_;
  std::string prefix_;
};

struct Candidate : Attempt {
  GgufEdits edits;
};

// What llama.cpp will do with the edited file, against what the plan wants.
void judge(const Plan& plan, const GgufModel& model, const GgufRope& rope, Candidate& candidate) {
  const Result<GgufRope> edited = formats::read_gguf_rope(model, rope, candidate.edits);
  if (!edited) return;
  const Effective effect = llama_cpp_effective(*edited, plan.context_target);
  const Deviation off = deviation(effect, plan);
  if (effect.loads) candidate.residual = off.table;
  candidate.scale_residual = off.scale;
}

Candidate by_factors(const Plan& plan, const GgufRope& rope, const Architecture& architecture) {
  KeyEdits keys(rope, std::string(architecture.name));
  keys.context(plan);
  std::vector<float> factors = floats(plan.groups[0].pair_factors);
  factors.resize(static_cast<std::size_t>(rope.stored_factors), 1);
  const bool lists = architecture.factors == Factors::lists ||
                     (architecture.factors == Factors::freqs_or_lists && (rope.long_factors || rope.short_factors));
  keys.scaling(lists ? "longrope" : "none", 1);
  keys.magnitude(plan.groups[0].attention_scale);
  if (lists) {
    keys.edits.add_tensor("rope_factors_long.weight", factors);
    keys.edits.add_tensor("rope_factors_short.weight", factors);
  } else {
    keys.edits.add_tensor("rope_freqs.weight", factors);
  }
  return {{lists ? "factor lists" : "a factor tensor"}, std::move(keys.edits)};
}

// What keys alone can say of the plan's table, best first.
std::vector<Candidate> by_keys(const Plan& plan, const GgufModel& model, const GgufRope& rope, Keys understood) {
  const GroupPlan& group = plan.groups[0];
  const auto n = static_cast<double>(group.pair_factors.size());
  const double last = group.pair_factors.back();
  std::vector<Candidate> candidates;
  const auto add_from = [&](std::int64_t original, std::string what, auto fill) {
    KeyEdits keys(rope, rope.architecture);
    keys.context(plan.context_target, original);
    fill(keys);
    candidates.push_back({{std::move(what)}, std::move(keys.edits)});
    judge(plan, model, rope, candidates.back());
  };
  const auto add = [&](const std::string& what, auto fill) { add_from(plan.spec.context_trained, what, fill); };
  if (understood == Keys::nothing) return candidates;
  const bool scaling = understood == Keys::all || understood == Keys::no_yarn;
  if (n > 1 && last < kNoRotation) {
    // The slowest pair decides the base; a factor that the fastest has already (Gemma 3: linear 8) stays under it
    const double first = scaling ? group.pair_factors.front() : 1;
    const double base = rope.base * std::pow(last / first, n / (n - 1));
    const std::string under = first == 1 ? "" : fmt::format(" over linear, factor {:.6g}", first);
    add(fmt::format("another base ({:.6g}){}", base, under), [&](KeyEdits& keys) {
      keys.scaling(first == 1 ? "none" : "linear", first);
      keys.base(base);
      keys.magnitude(group.attention_scale);
    });
    if (scaling) {
      add(fmt::format("linear, factor {:.6g}", last), [&](KeyEdits& keys) {
        keys.scaling("linear", last);
        keys.magnitude(group.attention_scale);
      });
    }
  }
  const double own = table_factor(plan);
  if (own > 1 && understood == Keys::all) {
    const auto yarn = [&](double factor, std::int64_t original) {
      add_from(original, fmt::format("yarn, factor {:.6g} from {}", factor, original), [&](KeyEdits& keys) {
        keys.scaling("yarn", factor);
        keys.magnitude(group.attention_scale / theory::attention_scale(factor, rope.yarn.attention));
      });
    };
    yarn(own, plan.spec.context_trained);
    // Both ends of the band t times as many turns from the fast end: to llama.cpp, YaRN from a length L/t
    const auto* law = std::get_if<Yarn>(&plan.method.law);
    if (law != nullptr && law->band.beta_fast != rope.yarn.band.beta_fast) {
      const double t = law->band.beta_fast / rope.yarn.band.beta_fast;
      const double from = std::round(static_cast<double>(plan.spec.context_trained) / t);
      if (from >= 1 && from <= static_cast<double>(plan.context_target)) yarn(own, static_cast<std::int64_t>(from));
    }
    // Of a model that ships YaRN: more of the same
    const std::optional<TrainedScaling>& trained = plan.spec.groups[0].trained;
    if (trained && std::holds_alternative<Yarn>(trained->method.law)) {
      yarn(trained->factor * own, trained->context_original);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.off() < b.off(); });
  return candidates;
}

bool exact(const Candidate& c) { return c.off() <= kExact; }

Delivery finish(const Plan& plan, const GgufRope& rope, Candidate candidate) {
  Delivery out;
  out.gguf = std::move(candidate.edits);
  out.residual = candidate.residual;
  out.scale_residual = candidate.scale_residual;
  out.commands.push_back(fmt::format("llama-server -m {{}} -c {}", plan.context_target));
  out.commands.push_back(fmt::format("llama-cli -m {{}} -c {}", plan.context_target));
  if (only_windows_rotate(rope) && !std::holds_alternative<None>(plan.method.law)) {
    out.notes.push_back(
        fmt::format("Only layers with a window of {} tokens rotate in this model; its other layers know no "
                    "positions. Try it first with a larger -c and nothing else.",
                    rope.sliding_window));
  }
  if (plan.groups[0].attention_scale != 1) {
    out.notes.emplace_back(kNoShift);
  }
  return out;
}

Error refused(const Plan& plan, const GgufRope& rope, const std::vector<Candidate>& tried, std::string_view why) {
  return refusal("llama.cpp", plan, rope.architecture, why, {tried.begin(), tried.end()});
}

}  // namespace

Result<Delivery> llama_cpp_deliver(const Plan& plan, const GgufModel& model, const GgufRope& rope,
                                   const DeliverOptions& options) {
  if (plan.context_target > std::int64_t{0x7fffffff}) {
    return Error{ErrorCode::unsupported, "GGUF stores the context length in 32 bits", "context_target"};
  }
  if (does_not_rotate(rope)) {
    return Error{
        ErrorCode::unsupported,
        fmt::format("no layer of {} rotates in llama.cpp, so that no table limits its length: start it with -c "
                    "{} and nothing else",
                    rope.architecture, plan.context_target),
        ""};
  }
  // Another name for the same graph, only where asked
  if (options.relabel) {
    Result<GgufEdits> relabelled = relabel(model, rope);
    if (!relabelled) return relabelled.error();
    const Result<GgufRope> renamed = formats::read_gguf_rope(model, rope, *relabelled);
    if (!renamed) return renamed.error();
    Candidate candidate = by_factors(plan, *renamed, *find_architecture(renamed->architecture));
    candidate.edits.architecture = relabelled->architecture;
    candidate.edits.changes.insert(candidate.edits.changes.begin(), relabelled->changes.begin(),
                                   relabelled->changes.end());
    judge(plan, model, rope, candidate);
    if (!exact(candidate)) return refused(plan, rope, {candidate}, "the relabelled file would rotate differently");
    Delivery out = finish(plan, rope, std::move(candidate));
    out.notes.push_back(
        fmt::format("The file calls itself {} instead of {}: the same computation, bit for bit, but tools "
                    "that look at the name (LoRA adapters, user interfaces) will see the new one.",
                    renamed->architecture, rope.architecture));
    return out;
  }

  const Architecture* architecture = find_architecture(rope.architecture);
  if (architecture == nullptr) {
    return Error{ErrorCode::unsupported,
                 fmt::format("llama.cpp v0.5.0 does not know the architecture \"{}\"", rope.architecture), ""};
  }
  std::vector<Candidate> keys = by_keys(plan, model, rope, architecture->keys);
  const bool takes_factors = architecture->factors == Factors::freqs_or_lists ||
                             architecture->factors == Factors::freqs || architecture->factors == Factors::lists;
  if (!takes_factors) {
    if (rope.freqs || rope.long_factors || rope.short_factors) {
      return Error{ErrorCode::unsupported,
                   fmt::format("the file has factor tensors that {} does not use", rope.architecture), ""};
    }
    if (!keys.empty() && exact(keys.front())) return finish(plan, rope, std::move(keys.front()));
    std::string why = architecture->keys == Keys::nothing ? "its rotation follows neither keys nor factor tensors"
                                                          : "its graph takes no factor tensor";
    if (relabel(model, rope)) why += " (relabelling would: see docs/gguf.md)";
    return refused(plan, rope, keys, why);
  }
  Candidate candidate = by_factors(plan, rope, *architecture);
  judge(plan, model, rope, candidate);
  if (!exact(candidate)) {
    const bool scale = candidate.residual <= kExact;
    return refused(plan, rope, keys,
                   scale ? "its attn_factor would also scale layers that the plan leaves alone; add attention_scale=1"
                         : "the factors would not come out as planned");
  }
  return finish(plan, rope, std::move(candidate));
}

}  // namespace mrrope::targets

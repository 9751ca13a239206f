// SPDX-License-Identifier: MIT
//
// R0xx: mistakes in GGUF files. Sources: llama.cpp v0.5.0; threads in docs/findings.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "targets/findings.h"
#include "targets/llama_cpp.h"

namespace mrrope::targets {

namespace {

using formats::GgufRope;

struct Context {
  const GgufModel& model;
  const GgufRope& rope;
  const Architecture* architecture;
  std::string prefix;

  [[nodiscard]] bool has(std::string_view key) const { return model.find(key) != nullptr; }
  [[nodiscard]] bool has_tensor(std::string_view name) const { return model.find_tensor(name) != nullptr; }
  [[nodiscard]] bool has_lists() const { return rope.long_factors || rope.short_factors; }
  [[nodiscard]] bool scaled() const {
    return rope.freqs || has_lists() || (rope.scaling_factor != 1 && rope.scaling_type != "none");
  }
};

// R001: people raise context_length because a front end caps at it, and forget the scaling.
void context_without_scaling(const Context& c, Reporter& out) {
  if (c.rope.context_length <= c.rope.context_original || c.scaled() || c.rope.plan || does_not_rotate(c.rope)) return;
  out.report("R001",
             fmt::format("context_length {} is beyond the original {} and nothing slows the rotation down",
                         c.rope.context_length, c.rope.context_original),
             fmt::format("mrrope extend FILE -c {} -o OUT", c.rope.context_length));
}

// R002, R003: a factor tensor where the graph has no place for it.
void factors_in_vain(const Context& c, Reporter& out) {
  if (!c.rope.freqs && !c.has_lists()) return;
  if (c.architecture != nullptr && c.architecture->factors == Factors::ignored) {
    out.report("R002", fmt::format("{} loads the factor tensors and rotates without them", c.rope.architecture),
               "remove them, or use a method that keys can say (linear, ntk, yarn)");
  }
  if (c.architecture != nullptr &&
      (c.architecture->factors == Factors::refused || c.architecture->factors == Factors::no_rope)) {
    out.report("R003",
               fmt::format("{} has no place for factor tensors; llama.cpp refuses the file", c.rope.architecture),
               "remove them, or see mrrope extend --relabel");
  }
}

// R004: both a tensor and a factor: the rotation is slowed down twice.
void scaled_twice(const Context& c, Reporter& out) {
  if ((!c.rope.freqs && !c.has_lists()) || c.rope.scaling_factor == 1 || c.rope.scaling_type == "none") return;
  out.report(
      "R004",
      fmt::format("rope.scaling.factor {:g} slows every pair down on top of the factor tensor", c.rope.scaling_factor),
      "set rope.scaling.type to none");
}

// R005: convert_hf_to_gguf writes the type for a longrope config of Llama or Qwen, and no factors.
void longrope_without_factors(const Context& c, Reporter& out) {
  if (c.rope.scaling_type != "longrope" || c.has_lists()) return;
  out.report("R005", "scaling type longrope without factor tensors: the model runs unscaled",
             "extend the GGUF itself: mrrope extend FILE -c N -o OUT");
}

// R006: YaRN's ramp starts from the original length; without the key it is context_length, already scaled.
void yarn_without_original(const Context& c, Reporter& out) {
  if (c.rope.scaling_type != "yarn" || c.rope.scaling_factor == 1 || c.has("rope.scaling.original_context_length"))
    return;
  out.report("R006",
             fmt::format("yarn without rope.scaling.original_context_length: llama.cpp takes {} as the trained length",
                         c.rope.context_length),
             "set rope.scaling.original_context_length to the trained length");
}

// R007: keys that only grok reads, and mistral3 half of them.
void ignored_yarn_keys(const Context& c, Reporter& out) {
  constexpr std::array<std::string_view, 4> keys = {"rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor",
                                                    "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"};
  if (c.rope.architecture == "grok") return;
  std::string found;
  for (const std::string_view key : keys) {
    if (c.rope.architecture == "mistral3" && key.find("yarn_beta") != std::string_view::npos) continue;
    if (c.has(key)) found += (found.empty() ? "" : ", ") + std::string(key);
  }
  if (!found.empty()) {
    out.report("R007", fmt::format("{} is not read for {}", found, c.rope.architecture),
               "use --yarn-* flags, or bake the table: mrrope extend --method yarn:beta_fast=…");
  }
}

// R008: length and factor tell different stories.
void yarn_length_mismatch(const Context& c, Reporter& out) {
  if (c.rope.scaling_type != "yarn" || c.rope.scaling_factor == 1 || !c.has("rope.scaling.original_context_length"))
    return;
  const double reach = static_cast<double>(c.rope.context_original) * c.rope.scaling_factor;
  if (std::fabs(reach - static_cast<double>(c.rope.context_length)) <= 0.02 * reach) return;
  out.report("R008",
             fmt::format("yarn reaches {:.0f} tokens ({} x {:g}), context_length says {}", reach,
                         c.rope.context_original, c.rope.scaling_factor, c.rope.context_length),
             "make them agree; front ends cap at context_length");
}

// R009: the two lists differ, so the rotation depends on -c.
void switching_lists(const Context& c, Reporter& out) {
  if (!c.has_lists() || c.rope.long_factors == c.rope.short_factors) return;
  out.report("R009",
             fmt::format("the long factors act as soon as more than {} tokens are allocated (-c), also on short texts",
                         c.rope.context_original),
             "start with a small -c for short texts");
}

// R010: one of the two lists is missing.
void half_a_pair_of_lists(const Context& c, Reporter& out) {
  if (c.rope.long_factors.has_value() == c.rope.short_factors.has_value()) return;
  out.report("R010", "only one of rope_factors_long and rope_factors_short is there", "add the other");
}

// R011: rope_freqs beside lists: only one of them has a place.
void freqs_and_lists(const Context& c, Reporter& out) {
  if (!c.rope.freqs || !c.has_lists()) return;
  out.report("R011", "rope_freqs beside factor lists: llama.cpp refuses the file", "keep one of them");
}

// R012: models whose base is not 10000 and whose converter lost it run at once into nonsense.
void lost_base(const Context& c, Reporter& out) {
  constexpr std::array<std::string_view, 9> large = {"qwen2",   "qwen2moe", "qwen3",  "qwen3moe", "gpt-oss",
                                                     "smollm3", "mistral3", "llama4", "seed_oss"};
  if (c.has("rope.freq_base") || std::find(large.begin(), large.end(), c.rope.architecture) == large.end()) return;
  out.report(
      "R012",
      fmt::format("no rope.freq_base: llama.cpp takes 10000, which no {} model was trained with", c.rope.architecture),
      "take it from the model's config.json (rope_theta)");
}

// R013: the old name of the factor; both names at once.
void two_factors(const Context& c, Reporter& out) {
  if (!c.has("rope.scale_linear") || !c.has("rope.scaling.factor")) return;
  out.report("R013", "rope.scale_linear is ignored beside rope.scaling.factor", "remove rope.scale_linear");
}

// R014: a factor that nobody applies.
void factor_switched_off(const Context& c, Reporter& out) {
  if (c.rope.scaling_type != "none" || c.rope.scaling_factor == 1) return;
  out.report("R014", fmt::format("rope.scaling.factor {:g} is ignored with type none", c.rope.scaling_factor),
             "set the type, or the factor to 1");
}

// R015: factors that shrink the context.
void factors_below_one(const Context& c, Reporter& out) {
  const bool factor = c.rope.scaling_factor < 1 && c.rope.scaling_type != "none";
  const bool list =
      c.rope.freqs && std::any_of(c.rope.freqs->begin(), c.rope.freqs->end(), [](float f) { return f < 0.5F; });
  if (!factor && !list) return;
  out.report("R015", "factors below 1 speed the rotation up: they may be reciprocals",
             "ggml divides by the factors; write s, not 1/s");
}

// R206: as in config.json.
void behind_a_window(const Context& c, Reporter& out) {
  if (!only_windows_rotate(c.rope) || !(c.scaled() || c.rope.plan) || c.rope.sliding_window >= c.rope.context_length)
    return;
  out.report("R206",
             fmt::format("only layers with a window of {} tokens rotate: the scaling lets them see no further",
                         c.rope.sliding_window),
             "leave the table alone and try a larger -c");
}

}  // namespace

void diagnose_gguf(const GgufModel& model, Reporter& out) {
  const Result<GgufRope> rope = formats::read_gguf_rope(model);
  if (!rope) {
    out.report("R000", to_string(rope.error()), "the file cannot be used as it is");
    return;
  }
  const Context context{model, *rope, find_architecture(rope->architecture), rope->architecture + "."};
  if (context.architecture == nullptr) {
    out.report("R000", fmt::format("llama.cpp v0.5.0 does not know the architecture \"{}\"", rope->architecture),
               "use a newer llama.cpp, or check general.architecture");
  }
  // A base of 0, an odd number of coordinates, a broken mrrope.plan: no table follows from it
  if (const Result<RopeSpec> spec = formats::rope_spec(*rope); !spec && rope->rotary_dim > 0) {
    out.report("R000", to_string(spec.error()), "the file cannot be used as it is");
  }
  for (const auto rule :
       {context_without_scaling, factors_in_vain, scaled_twice, longrope_without_factors, yarn_without_original,
        ignored_yarn_keys, yarn_length_mismatch, switching_lists, half_a_pair_of_lists, freqs_and_lists, lost_base,
        two_factors, factor_switched_off, factors_below_one, behind_a_window}) {
    rule(context, out);
  }
}

}  // namespace mrrope::targets

// SPDX-License-Identifier: MIT
//
// llama.cpp's path from keys to angles: load_hparams -> llama_context -> ggml_rope_ext.
//   theta_i = base^(-i/n) / ff_i, then freq_scale or the YaRN ramp, cos and sin times mscale
// (src/llama-context.cpp 114-214, ggml/src/ggml-cpu/ops.cpp 5958-5989).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "targets/llama_cpp.h"

namespace mrrope::targets {

namespace {

using formats::GgufRope;

// The factors the graph is given, and why if none.
std::vector<double> factors_in_use(const GgufRope& rope, Factors support, std::int64_t context, Effective& out) {
  const auto pairs = static_cast<std::size_t>(rope.rotary_dim / 2);
  std::vector<double> ones(pairs, 1.0);
  const bool has_lists = rope.long_factors || rope.short_factors;
  if (!rope.freqs && !has_lists) return ones;
  const bool longrope = rope.scaling_type == "longrope";
  switch (support) {
    case Factors::refused:
    case Factors::no_rope:
      out.loads = false;
      out.notes.push_back(
          fmt::format("llama.cpp refuses the file: {} has no place for factor tensors (\"wrong number of tensors\")",
                      rope.architecture));
      return ones;
    case Factors::ignored:
      out.notes.push_back(fmt::format("{} loads the factor tensors and rotates without them", rope.architecture));
      return ones;
    case Factors::freqs:
    case Factors::freqs_or_lists: {
      const bool lists = support == Factors::freqs_or_lists && longrope;
      if ((lists && rope.freqs) || (!lists && has_lists)) {
        out.loads = false;
        out.notes.emplace_back(lists ? "llama.cpp refuses the file: rope_freqs beside scaling type longrope"
                                     : "llama.cpp refuses the file: factor lists without scaling type longrope");
        return ones;
      }
      if (!lists) return {rope.freqs->begin(), rope.freqs->end()};
      break;
    }
    case Factors::lists:
      if (rope.freqs) {
        out.loads = false;
        out.notes.push_back(
            fmt::format("llama.cpp refuses the file: {} has no place for rope_freqs", rope.architecture));
        return ones;
      }
      break;
  }
  // The choice is by the context that is allocated, not by the text (src/llama-model.cpp 2259-2272).
  const bool use_long = context > rope.context_original;
  const auto& list = use_long ? rope.long_factors : rope.short_factors;
  if (rope.long_factors != rope.short_factors) {
    out.notes.push_back(fmt::format("the {} factors are used at -c {}; the switch is at {} allocated tokens",
                                    use_long ? "long" : "short", context, rope.context_original));
  }
  if (!list) return ones;
  return {list->begin(), list->end()};
}

}  // namespace

Effective llama_cpp_effective(const GgufRope& rope, std::int64_t context) {
  Effective out;
  out.context = rope.context_length;
  const Architecture* architecture = find_architecture(rope.architecture);
  if (architecture == nullptr) {
    out.loads = false;
    out.notes.push_back(fmt::format("llama.cpp v0.5.0 does not know the architecture \"{}\"", rope.architecture));
  }
  // Factors, then the scaling type
  std::vector<double> factors =
      factors_in_use(rope, architecture != nullptr ? architecture->factors : Factors::refused, context, out);
  if (does_not_rotate(rope)) {
    out.notes.emplace_back("no layer rotates in llama.cpp, so that no table limits its length");
    return out;
  }
  const std::string type = rope.scaling_type.value_or("linear");
  const Keys keys = architecture != nullptr ? architecture->keys : Keys::all;
  const bool keys_act = keys != Keys::base && keys != Keys::nothing;
  const double factor = type == "none" || !keys_act ? 1 : rope.scaling_factor;
  if (!keys_act && rope.scaling_factor != 1) {
    out.notes.push_back(fmt::format("{} ignores rope.scaling.factor", rope.architecture));
  }
  if (keys == Keys::scores && factor != 1) {
    out.notes.push_back(
        fmt::format("{} also changes the scale of its scores with rope.scaling.factor; the attention "
                    "scale here is that of the rotation only",
                    rope.architecture));
  }
  if (keys == Keys::no_yarn && type == "yarn") {
    out.notes.push_back(fmt::format("{} runs YaRN with a band of its own", rope.architecture));
  }
  double scale = rope.attn_factor;
  if (architecture != nullptr && architecture->magnitude != Magnitude::applied && scale != 1) {
    const bool twice = architecture->magnitude == Magnitude::twice;
    out.notes.push_back(
        fmt::format("{} {} attn_factor", rope.architecture, twice ? "applies twice the" : "does not rotate by"));
    scale = twice ? scale * scale : 1;
  }
  const Spectrum plain = plain_spectrum(rope.rotary_dim, rope.base, static_cast<double>(rope.context_original));
  if (type == "yarn" && factor > 1) {
    const Table yarn = table(plain, factor, rope.yarn);
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] *= yarn.pair_factors[i];
    scale *= yarn.attention_scale;
  } else if (factor != 1) {
    for (double& f : factors) f *= factor;
    if (type == "longrope" || rope.freqs) {
      out.notes.push_back(
          fmt::format("rope.scaling.factor {:g} slows every pair down on top of the factor tensor", factor));
    }
  }
  if (type == "none" && rope.scaling_factor != 1)
    out.notes.emplace_back("rope.scaling.factor is ignored with type none");

  if (!rope.still.empty()) {
    out.notes.push_back(
        fmt::format("of text llama.cpp does not turn {} {}: rope.dimension_sections gives {} to no position",
                    rope.still.size() == 1 ? "pair" : "pairs", fmt::join(rope.still, ", "),
                    rope.still.size() == 1 ? "it" : "them"));
  }

  const bool split = rope.sliding && !rope.sliding->layers.empty();
  out.groups.push_back({split ? "global" : "all", inv_freq(plain, factors), scale});
  if (split) {
    const Spectrum own =
        plain_spectrum(rope.sliding->rotary_dim, rope.sliding->base, static_cast<double>(rope.context_original));
    const Sliding reach = architecture != nullptr ? architecture->sliding : Sliding::attn_factor;
    EffectiveGroup sliding{"sliding", own.inv_freq, reach == Sliding::nothing ? 1 : rope.attn_factor};
    if (reach == Sliding::scaling && factor != 1) {
      for (std::size_t i = 0; i < sliding.inv_freq.size() && i < factors.size(); ++i) sliding.inv_freq[i] /= factors[i];
      sliding.attention_scale = scale;
      out.notes.emplace_back("rope.scaling.factor also acts on the sliding layers");
    } else if (sliding.attention_scale != 1) {
      out.notes.emplace_back("attn_factor also scales the sliding layers");
    }
    out.groups.push_back(std::move(sliding));
  }
  if (rope.attn_factor != 1) {
    out.notes.emplace_back(
        "with attn_factor, context shift and --cache-reuse multiply cached keys again: leave them off");
  }
  return out;
}

}  // namespace mrrope::targets

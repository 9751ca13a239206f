// SPDX-License-Identifier: MIT
//
// llama.cpp v0.5.0 and the programs that embed it (Ollama from 0.30, LM Studio).
//
// Source: llama.cpp v0.5.0; what each architecture does with factor tensors was measured on tiny models
// (tests/llama/test_extend.py).
#pragma once

#include <string_view>

#include "formats/gguf_rope.h"
#include "mrrope/targets.h"

namespace mrrope::targets {

// What an architecture does with rope_freqs.weight and rope_factors_{long,short}.weight.
enum class Factors {
  freqs_or_lists,  // rope_freqs; or both lists with scaling type longrope
  freqs,           // rope_freqs only
  lists,           // the two lists only, whatever the type
  ignored,         // loads them and rotates without: a trap
  refused,         // "wrong number of tensors": the file does not load
  no_rope,         // the model does not rotate
};

// What it does with rope.scaling.attn_factor.
enum class Magnitude {
  applied,  // on cos and sin of every rotated layer
  ignored,  // not in the rotation
  twice,    // in the rotation and again in the scale of the scores
};

// What it does with rope.freq_base and rope.scaling.{type,factor}.
enum class Keys {
  all,      // as documented
  no_yarn,  // YaRN has other ends than everywhere else
  base,     // only freq_base acts
  scores,   // a factor also changes the scale of the scores, which no plan can say
  nothing,  // a fixed table, or keys that act on some layers only
};

// Which of the keys reach sliding layers that have a table of their own.
enum class Sliding {
  attn_factor,
  nothing,
  scaling,  // rope.scaling.* and attn_factor
};

struct Architecture {
  std::string_view name;
  Factors factors = Factors::refused;
  Magnitude magnitude = Magnitude::applied;
  Keys keys = Keys::all;
  Sliding sliding = Sliding::attn_factor;
};

// Every architecture of v0.5.0; nullptr for a name it does not know (the file does not load).
const Architecture* find_architecture(std::string_view name);

// Whether its row was compared with the running engine (tests/llama), or read in its source.
Evidence evidence_for(std::string_view architecture);

// Whether no layer rotates in this model, whatever keys the file has: no table limits its length.
bool does_not_rotate(const formats::GgufRope& rope);

// Whether only windowed layers rotate in this model, so that no table limits its length.
bool only_windows_rotate(const formats::GgufRope& rope);

// What it does with a file of these keys and tensors, started with n_ctx = context.
Effective llama_cpp_effective(const formats::GgufRope& rope, std::int64_t context);

// A note of a delivery whose attention scale is not 1; front ends have words of their own for it.
inline constexpr std::string_view kNoShift =
    "Leave context shift and --cache-reuse off: llama.cpp would scale cached keys again.";

// Edits that make it use the plan.
Result<Delivery> llama_cpp_deliver(const Plan& plan, const GgufModel& model, const formats::GgufRope& rope,
                                   const DeliverOptions& options);

// The relabelling alone: a new architecture and the keys it needs.
Result<GgufEdits> relabel(const GgufModel& model, const formats::GgufRope& rope);

}  // namespace mrrope::targets

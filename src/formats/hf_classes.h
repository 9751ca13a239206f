// SPDX-License-Identifier: MIT
//
// What transformers knows about a model_type without reading it in the file: the defaults of its configuration class,
// and the spellings that class alone has. Small configs rely on them (Gemma 3 4B gives neither heads nor head_dim).
#pragma once

#include <cstdint>
#include <string_view>

namespace mrrope::formats {

enum HfTrait : unsigned {
  kPlain = 0,
  // A plain table reads partial_rotary_factor; without this, only scaled ones do and plain ones turn the whole head.
  kPartial = 1U << 0,
  // A table per layer type. A flat rope_scaling is meant for full_attention.
  kByLayerType = 1U << 1,
  kLocalBase = 1U << 2,      // rope_local_base_freq is the base of the sliding layers
  kGlobalHeadDim = 1U << 3,  // full_attention has heads of its own size, and rope_scaling is not read
  kMla = 1U << 4,            // qk_rope_head_dim of every head turn; head_dim below is its default
  kNeoxNames = 1U << 5,      // rotary_pct and rotary_emb_base
  kRotaryDim = 1U << 6,      // rotary_dim
  // L is the top-level original_max_position_embeddings, 4096 if missing; "yarn" is longrope
  kPhi3 = 1U << 7,
  kMscalePair = 1U << 8,          // longrope takes its scale from long_mscale
  kAlpha = 1U << 9,               // "dynamic" with alpha is a fixed ntk table
  kWindowSwitch = 1U << 10,       // sliding_window counts only with use_sliding_window
  kLinearOthers = 1U << 11,       // layers that are not full have no softmax attention
  kChunkedOthers = 1U << 12,      // … see attention_chunk_size tokens
  kFullWithoutRope = 1U << 13,    // full_attention layers do not turn
  kFourthWithoutRope = 1U << 14,  // every fourth layer does not turn
  kPattern = 1U << 15,            // sliding_window_pattern replaces full_every
  kOwnCode = 1U << 16             // not in transformers: the class comes with the model
};

struct HfClass {
  std::string_view model_type;
  int layers;
  int hidden;
  int heads;
  int kv_heads;
  int head_dim;  // 0: hidden / heads
  std::int64_t context;
  double base;
  double partial;
  std::int64_t window;
  int full_every;  // k: layers k-1, 2k-1, … are full, the others slide; 0: all layers are alike
  unsigned traits;
  std::string_view rope = {};  // rope_parameters where the file has none

  [[nodiscard]] bool is(HfTrait trait) const noexcept { return (traits & trait) != 0; }
};

// nullptr for a model_type we do not know. Names of whole multimodal models find their text part ("gemma3").
const HfClass* find_hf_class(std::string_view model_type) noexcept;

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// Everything a GGUF says about rotation, read once: the keys and factor tensors that llama.cpp looks at, with its
// defaults, and nothing else. From it follow the RopeSpec (what the model was trained with) here, and what an engine
// will do in targets/.
//
// Source: llama.cpp v0.5.0, src/llama-model.cpp load_hparams and src/models/*.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/gguf.h"
#include "mrrope/spec.h"

namespace mrrope::formats {

// Where the base of sliding layers comes from.
enum class SlidingBase {
  own,      // rope.freq_base_swa, or a constant
  inherit,  // rope.freq_base, as long as there is no rope.freq_base_swa
  shared,   // always rope.freq_base
};

// Sliding-window layers that rotate by a table of their own (Gemma 3, OLMo 3).
struct SlidingRope {
  double base = 10000;
  int rotary_dim = 0;
  SlidingBase source = SlidingBase::own;
  std::vector<int> layers;
};

struct GgufRope {
  std::string architecture;
  std::string name;  // name_of()
  int layers = 0;
  int rotary_dim = 0;      // of the full layers; 0: the model does not rotate
  int stored_factors = 0;  // length of a factor tensor: rotary_dim / 2, and more in step35
  double base = 10000;
  std::int64_t context_length = 0;
  std::int64_t context_original = 0;  // rope.scaling.original_context_length, else context_length
  std::optional<std::string> scaling_type;
  double scaling_factor = 1;  // rope.scaling.factor or its old name; 0 and absent mean 1
  double attn_factor = 1;
  Yarn yarn;  // what type yarn means to the architecture: its band, and its scale without attn_factor
  bool original_sets_temperature = false;          // context_original is also the length from which queries grow warmer
  std::optional<std::vector<float>> freqs;         // rope_freqs.weight
  std::optional<std::vector<float>> long_factors;  // rope_factors_long.weight
  std::optional<std::vector<float>> short_factors;  // rope_factors_short.weight
  std::vector<int> still;           // pairs that no section of interleaved M-RoPE has: text does not turn them
  std::int64_t sliding_window = 0;  // 0: none, or none that is written in the file
  std::optional<SlidingRope> sliding;
  std::optional<std::string> plan;  // mrrope.plan: this file was extended by us
};

// general.name, fit for a terminal; empty: the file has none.
std::string name_of(const GgufModel& model);

// Reads a factor tensor: from the files of the model, or from wherever its bytes are.
using FactorReader = std::function<Result<std::vector<float>>(const GgufModel& model, std::string_view name)>;

// Errors: keys that llama.cpp would refuse (no context_length, a key of another type than it reads, a scaling it does
// not know), values out of range.
Result<GgufRope> read_gguf_rope(const GgufModel& model, const FactorReader& read = read_f32_tensor);

// What the same will find once the edits are written. `before`: what it finds now. No file is touched; costs a copy of
// the header.
Result<GgufRope> read_gguf_rope(const GgufModel& model, const GgufRope& before, const GgufEdits& edits);

// What the model was trained with. Of a file that mrrope extended: what it was before.
Result<RopeSpec> rope_spec(const GgufRope& rope);

}  // namespace mrrope::formats

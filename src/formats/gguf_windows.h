// SPDX-License-Identifier: MIT
//
// Which layers of a GGUF look back no further than a window, as llama.cpp decides it: most architectures ignore
// attention.sliding_window, others have a default for it.
//
// Source: llama.cpp v0.5.0, load_swa_pattern in src/llama-model.cpp and load_arch_hparams in src/models/*.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/gguf_keys.h"

namespace mrrope::formats {

struct GgufWindows {
  std::int64_t tokens = 0;   // 0: no layer slides
  std::vector<bool> slides;  // of each layer; empty where none does
};

// `layers`: block_count, at most kMaxLayers. Keys of a wrong type are noted in `keys`.
GgufWindows read_windows(const GgufModel& model, KeyReader& keys, int layers);

}  // namespace mrrope::formats

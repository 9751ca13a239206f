// SPDX-License-Identifier: MIT
#include "mrrope/kv_cache.h"

#include <algorithm>

#include "targets/cache_layout.h"

namespace mrrope {

namespace {

constexpr std::int64_t kCells = 256;  // a cache has a multiple of them (llama-context.cpp, llama-kv-cache-iswa.cpp)
constexpr std::int64_t kBatch = 512;  // default of n_ubatch

std::int64_t padded(std::int64_t cells) { return (cells + kCells - 1) / kCells * kCells; }

}  // namespace

KvCache kv_cache(const ModelFile& model, std::int64_t tokens, double element_bytes, int sequences) {
  const targets::CacheLayout layout =
      model.gguf() != nullptr ? targets::llama_cpp_cache(*model.gguf()) : targets::hf_cache(*model.hf());
  const std::int64_t cells = padded(tokens);
  const std::int64_t windows = layout.window * (layout.each_its_own ? 1 : sequences);

  KvCache out;
  out.full_layers = layout.full_layers;
  out.sliding_layers = layout.sliding_layers;
  out.recurrent_layers = layout.recurrent_layers;
  if (layout.sliding_layers > 0) out.sliding_cells = padded(std::min(cells, windows + std::min(kBatch, tokens)));
  double elements = layout.sliding * static_cast<double>(out.sliding_cells);
  for (const auto& [share, width] : layout.full) {
    elements += width * static_cast<double>(padded((cells + share - 1) / share));
    out.bytes_per_token += width * element_bytes / share;
  }
  out.bytes = elements * element_bytes * (layout.each_its_own ? sequences : 1);
  out.recurrent_bytes = layout.state_bytes * sequences;
  return out;
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// What a model keeps in memory while it runs: keys and values of the tokens it has read, and states of its recurrent
// layers. Weights and buffers of the computation come on top.
//
//   const KvCache cache = kv_cache(*model, 131072);            // one sequence in f16
//   const double all = cache.bytes + cache.recurrent_bytes;
//
// Counted as llama.cpp v0.5.0 allocates it with its default batch, and compared with its log for every architecture of
// the test models (tests/llama/test_cache_memory.py). Lengths are padded to 256 tokens; sliding layers keep their
// window and a batch; latent attention (MLA) keeps one latent instead of keys and values of every head; layers that use
// the keys of others keep nothing. A config.json is counted by the same rules as far as it says what its layers are:
// vLLM, SGLang and transformers round differently, and those that do not shrink the cache of sliding layers take more.
#pragma once

#include <cstdint>

#include "mrrope/model_file.h"

namespace mrrope {

// All 0: the file does not say, or the model keeps nothing (embeddings, diffusion).
struct KvCache {
  double bytes = 0;                // keys and values, latents, and the keys of a sparse indexer
  double recurrent_bytes = 0;      // states in float32, the same for every length; of a config.json 0 where unknown
  double bytes_per_token = 0;      // what one more token adds once the windows are full
  int full_layers = 0;             // those that keep every token
  int sliding_layers = 0;          // those that keep sliding_cells of them
  int recurrent_layers = 0;        // those with a state; some keep keys, too (Falcon H1)
  std::int64_t sliding_cells = 0;  // of one sliding layer
};

// `tokens`: the length of the context, 1 … kMaxContext. `element_bytes`: f16: 2, q8_0: 34.0 / 32. `sequences`: how many
// share the context; llama-server without -np has 4, each with windows and states of its own. Some 50 microseconds.
KvCache kv_cache(const ModelFile& model, std::int64_t tokens, double element_bytes = 2, int sequences = 1);

}  // namespace mrrope

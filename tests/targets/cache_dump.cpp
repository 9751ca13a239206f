// SPDX-License-Identifier: MIT
//
// What kv_cache() counts, for tests/llama/test_cache_memory.py. Prints JSON.
//
//   cache_dump MODEL TOKENS SEQUENCES
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "mrrope/kv_cache.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const mrrope::Result<mrrope::ModelFile> model = mrrope::read_model(argv[1]);
  if (!model) return 1;
  const mrrope::KvCache cache = mrrope::kv_cache(*model, std::atoll(argv[2]), 2, std::atoi(argv[3]));
  const nlohmann::ordered_json json = {{"bytes", cache.bytes},
                                       {"recurrent_bytes", cache.recurrent_bytes},
                                       {"full_layers", cache.full_layers},
                                       {"sliding_layers", cache.sliding_layers},
                                       {"recurrent_layers", cache.recurrent_layers},
                                       {"sliding_cells", cache.sliding_cells}};
  std::printf("%s\n", json.dump().c_str());
}

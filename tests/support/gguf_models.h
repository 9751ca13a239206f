// SPDX-License-Identifier: MIT
//
// Headers of models as values, without files.
#pragma once

#include <map>
#include <string>

#include "mrrope/gguf.h"

namespace mrrope::test {

// A model of `architecture` with 32 pairs, base 1e5 and 8192 trained tokens (SmolLM2's sizes), and `more` keys on top.
inline GgufModel gguf_model(const std::string& architecture, const std::map<std::string, GgufValue>& more = {}) {
  GgufFile file;
  file.path = "model.gguf";
  const auto set = [&](const std::string& key, GgufValue value) { file.entries.push_back({key, std::move(value)}); };
  set("general.architecture", GgufValue::text(architecture));
  set("general.name", GgufValue::text("tiny"));
  std::map<std::string, GgufValue> keys = {
      {"block_count", GgufValue::u32(30)},          {"context_length", GgufValue::u32(8192)},
      {"embedding_length", GgufValue::u32(576)},    {"feed_forward_length", GgufValue::u32(1536)},
      {"attention.head_count", GgufValue::u32(9)},  {"attention.head_count_kv", GgufValue::u32(3)},
      {"rope.dimension_count", GgufValue::u32(64)}, {"rope.freq_base", GgufValue::f32(100000)}};
  for (const auto& [key, value] : more) keys[key] = value;
  for (const auto& [key, value] : keys) set(architecture + "." + key, value);
  return {{file}};
}

}  // namespace mrrope::test

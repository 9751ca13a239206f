// SPDX-License-Identifier: MIT
//
// Numbers under "<architecture>." keys, read as llama.cpp reads them: a key has one type, and a file where it has
// another one is not loaded (v0.5.0, src/llama-model-loader.cpp, GKV::get_kv). Only keys that are asked for are looked
// at, because llama.cpp does not look at the others either.
#pragma once

#include <optional>
#include <string_view>

#include "mrrope/gguf.h"
#include "mrrope/result.h"

namespace mrrope::formats {

class KeyReader {
 public:
  explicit KeyReader(const GgufModel& model) : model_(model) {}

  // The fallback where the key is not there, or of another type.
  double u32(std::string_view key, double fallback) { return number(key, GgufType::u32, fallback); }
  double f32(std::string_view key, double fallback) { return number(key, GgufType::f32, fallback); }
  // A number, or a list with one for each layer: the largest. 0 where there is none.
  double largest_count(std::string_view key);

  // Of the keys read so far, the first of a wrong type.
  [[nodiscard]] const Result<void>& types() const noexcept { return types_; }

 private:
  double number(std::string_view key, GgufType type, double fallback);

  const GgufModel& model_;
  Result<void> types_;
};

}  // namespace mrrope::formats

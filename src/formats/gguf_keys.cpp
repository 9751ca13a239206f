// SPDX-License-Identifier: MIT
#include "formats/gguf_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace mrrope::formats {

double KeyReader::largest_count(std::string_view key) {
  const GgufValue* value = model_.find(key);
  const auto list = value != nullptr ? value->numbers() : std::nullopt;
  if (!list) return u32(key, 0);
  return list->empty() ? 0 : *std::max_element(list->begin(), list->end());
}

double KeyReader::number(std::string_view key, GgufType type, double fallback) {
  const GgufValue* value = model_.find(key);
  if (value == nullptr) return fallback;
  if (value->type() == type) return value->number().value_or(fallback);
  if (types_) {
    types_ = Error{ErrorCode::malformed,
                   fmt::format("expected {}, found {} ({}); llama.cpp stops on it", to_string(type), value->display(),
                               to_string(value->type())),
                   model_.architecture() + "." + std::string(key)};
  }
  return fallback;
}

}  // namespace mrrope::formats

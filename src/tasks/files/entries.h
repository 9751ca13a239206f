// SPDX-License-Identifier: MIT
//
// Shared by the readers of benchmark files: values that are what they have to be, or base::Rejected with their place.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tasks/files/object_stream.h"

namespace mrrope::eval::task_files {

using base::Json;
using base::ObjectReader;

[[noreturn]] inline void reject(const std::string& place, std::string message) {
  throw base::Rejected{{ErrorCode::malformed, std::move(message), place}};
}

inline std::string element(const std::string& place, std::size_t i) { return fmt::format("{}[{}]", place, i); }

inline const std::string& text_of(const Json& value, const std::string& place) {
  if (!value.is_string()) reject(place, fmt::format("expected a string, found {}", base::kind_of(value)));
  return value.get_ref<const std::string&>();
}

// A list of at least `least` elements.
inline const Json& list_of(const Json& value, const std::string& place, std::size_t least) {
  if (!value.is_array()) reject(place, fmt::format("expected a list, found {}", base::kind_of(value)));
  if (value.size() < least) reject(place, fmt::format("expected at least {}, found {}", least, value.size()));
  return value;
}

// An answer of no characters would be found in everything.
inline const std::string& answer_of(const Json& value, const std::string& place) {
  const std::string& text = text_of(value, place);
  if (text.empty()) reject(place, "expected a text that is not empty");
  return text;
}

// Calls read(ObjectReader&) for every object of a file until it returns false.
template <class Read>
Result<void> for_each_entry(const std::string& path, std::uint64_t most, Read read) {
  Result<ObjectStream> stream = ObjectStream::open(path, most);
  if (!stream) return stream.error();
  for (;;) {
    const Result<std::optional<Json>> entry = stream->next();
    if (!entry) return entry.error();
    if (!*entry) return {};
    try {
      ObjectReader in(**entry, "");
      if (!read(in)) return {};
    } catch (const base::Rejected& rejected) {
      return stream->placed(rejected.error);
    }
  }
}

}  // namespace mrrope::eval::task_files

// SPDX-License-Identifier: MIT
//
// JSON put together as text, with the bytes of nlohmann::json's dump(): for files of many lines of one shape.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace mrrope::eval {

// Appends a string with its quotes. Bytes that are not UTF-8 become U+FFFD.
inline void append_json(std::string& out, std::string_view text) {
  const std::size_t first = out.size();
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      default: break;
    }
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x80) {
      out.resize(first);
      out += base::Json(text).dump(-1, ' ', false, base::Json::error_handler_t::replace);
      return;
    }
    out += c;
  }
  out += '"';
}

// As short as reads back the same.
inline void append_json(std::string& out, double number) { out += base::Json(number).dump(); }

}  // namespace mrrope::eval

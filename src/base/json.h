// SPDX-License-Identifier: MIT
//
// Strict JSON: a parser that refuses what nlohmann::json would let pass, a reader that names the field it stumbles
// over, and a writer people can read.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::base {

using Json = nlohmann::ordered_json;

// Larger texts are refused before they are parsed: no file of ours comes near.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;

// So are those with more values than this, which in memory are 20 to 50 times as large as their text.
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 22;

// In time linear in the text. Errors: not JSON, or a number that overflows a double (both with line and column);
// repeated keys; nesting deeper than 32; too large.
Result<Json> parse_json(std::string_view text);

// Two-space indent; a list of scalars on one line; doubles as short as reads back the same; bytes not UTF-8 as U+FFFD.
std::string write_json(const Json& value);

// Thrown by ObjectReader and caught at the public function that owns it: a file of twenty fields is read as a list of
// statements instead of twenty branches. Never leaves the library.
struct Rejected {
  Error error;
};

// Reads the fields of one object. Every getter throws Rejected with the path of the field; finish() rejects fields that
// nobody asked for.
class ObjectReader {
 public:
  ObjectReader(const Json& value, std::string path);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const;

  const Json& any(std::string_view key);
  std::string text(std::string_view key);
  bool boolean(std::string_view key);
  double number(std::string_view key);
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::vector<double> numbers(std::string_view key);
  ObjectReader object(std::string_view key);
  const Json& array(std::string_view key);

  void finish() const;

  [[noreturn]] void reject(std::string_view key, ErrorCode code, std::string message) const;

 private:
  const Json* object_;
  std::string path_;
  std::vector<std::string> read_;
};

// "a string", "a list", …: what was found, for messages.
std::string_view kind_of(const Json& value);

}  // namespace mrrope::base

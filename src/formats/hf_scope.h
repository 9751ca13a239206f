// SPDX-License-Identifier: MIT
//
// Fields of a config that may be absent, null, or stand in one of several objects.
//
//   Scope rope(scaling, "rope_scaling");
//   if (Place p = rope.find("factor")) factor = number(p, 1, 64);   // or Rejected{"rope_scaling.factor: expected …"}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace mrrope::formats {

// A value and its path; false if there is none.
struct Place {
  const base::Json* value = nullptr;
  std::string path;

  explicit operator bool() const noexcept { return value != nullptr; }
};

[[noreturn]] void reject(std::string path, ErrorCode code, std::string message);

// Each throws base::Rejected with the path of the place. Domain: the place holds a value.
double number(const Place& place, double min, double max);
std::int64_t integer(const Place& place, std::int64_t min, std::int64_t max);
bool boolean(const Place& place);
std::string text(const Place& place);  // fit for a terminal: base::printable()
std::vector<double> numbers(const Place& place, double min, double max);

// Objects searched one after the other. The objects must outlive the scope.
class Scope {
 public:
  Scope() = default;
  // Throws base::Rejected if the value is no object.
  Scope(const base::Json& object, std::string path) { add(object, std::move(path)); }
  void add(const base::Json& object, std::string path);

  [[nodiscard]] bool empty() const noexcept { return layers_.empty(); }
  // The first object that has the key decides, and null means no.
  [[nodiscard]] Place find(std::string_view key) const;
  // The same for the first of several spellings.
  [[nodiscard]] Place find_any(std::initializer_list<std::string_view> keys) const;
  // Also true for null.
  [[nodiscard]] bool has(std::string_view key) const;
  // Where a missing field would be expected.
  [[nodiscard]] std::string path(std::string_view key) const;

 private:
  std::vector<Place> layers_;
};

// "a.b", or "b" below the top.
std::string join_path(std::string_view object, std::string_view key);

}  // namespace mrrope::formats

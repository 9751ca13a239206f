// SPDX-License-Identifier: MIT
#include "formats/hf_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "mrrope/units.h"

namespace mrrope::formats {

namespace {

using base::Json;

[[noreturn]] void mistyped(const Place& place, std::string_view expected) {
  reject(place.path, ErrorCode::malformed, fmt::format("expected {}, found {}", expected, base::kind_of(*place.value)));
}

}  // namespace

void reject(std::string path, ErrorCode code, std::string message) {
  throw base::Rejected{{code, std::move(message), std::move(path)}};
}

double number(const Place& place, double min, double max) {
  if (!place.value->is_number()) mistyped(place, "a number");
  const auto value = place.value->get<double>();
  if (!(value >= min && value <= max)) {
    reject(place.path, ErrorCode::invalid_argument,
           fmt::format("expected a number between {} and {}, found {}", format_number(min), format_number(max),
                       place.value->dump()));
  }
  return value;
}

std::int64_t integer(const Place& place, std::int64_t min, std::int64_t max) {
  if (!place.value->is_number()) mistyped(place, "a whole number");
  const auto value = place.value->get<double>();
  if (!(value >= static_cast<double>(min) && value <= static_cast<double>(max)) || value != std::floor(value)) {
    reject(place.path, ErrorCode::invalid_argument,
           fmt::format("expected a whole number between {} and {}, found {}", min, max, place.value->dump()));
  }
  return static_cast<std::int64_t>(value);
}

bool boolean(const Place& place) {
  if (!place.value->is_boolean()) mistyped(place, "true or false");
  return place.value->get<bool>();
}

std::string text(const Place& place) {
  if (!place.value->is_string()) mistyped(place, "a string");
  return base::printable(place.value->get<std::string>(), std::string::npos);
}

std::vector<double> numbers(const Place& place, double min, double max) {
  if (!place.value->is_array()) mistyped(place, "a list of numbers");
  std::vector<double> values;
  values.reserve(place.value->size());
  for (const Json& element : *place.value) {
    if (element.is_number()) {  // the path is made only where it is needed
      const auto value = element.get<double>();
      if (value >= min && value <= max) {
        values.push_back(value);
        continue;
      }
    }
    number({&element, fmt::format("{}[{}]", place.path, values.size())}, min, max);  // says what is wrong
  }
  return values;
}

void Scope::add(const Json& object, std::string path) {
  if (!object.is_object()) mistyped({&object, std::move(path)}, "an object");
  layers_.push_back({&object, std::move(path)});
}

Place Scope::find(std::string_view key) const {
  for (const Place& layer : layers_) {
    const auto found = layer.value->find(std::string(key));
    if (found == layer.value->end()) continue;
    return {found->is_null() ? nullptr : &*found, join_path(layer.path, key)};
  }
  return {nullptr, path(key)};
}

Place Scope::find_any(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (Place place = find(key)) return place;
  }
  return {nullptr, path(*keys.begin())};
}

bool Scope::has(std::string_view key) const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [&](const Place& layer) { return layer.value->contains(std::string(key)); });
}

std::string Scope::path(std::string_view key) const {
  return join_path(layers_.empty() ? std::string_view{} : layers_.front().path, key);
}

std::string join_path(std::string_view object, std::string_view key) {
  std::string path(object);
  if (!path.empty()) path += '.';
  return path += key;
}

}  // namespace mrrope::formats

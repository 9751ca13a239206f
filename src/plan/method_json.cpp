// SPDX-License-Identifier: MIT
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "plan/json_parts.h"
#include "plan/method_fields.h"
#include "plan/method_names.h"

namespace mrrope::plan {

namespace {

using base::Json;
using base::ObjectReader;

// Every parameter is written, so that a plan keeps its meaning if a default ever changes; unset ones are left out.
struct Writer {
  Json& params;

  void operator()(const Field& field, double value) { params[std::string(field.name)] = value; }
  void operator()(const Field& field, bool value) { params[std::string(field.name)] = value; }
  void operator()(const Field& field, const std::vector<double>& values) { params[std::string(field.name)] = values; }
  template <class T>
  void operator()(const Field& field, const std::optional<T>& value) {
    if (value) params[std::string(field.name)] = *value;
  }
};

struct Reader {
  ObjectReader& params;

  void operator()(const Field& field, double& value) {
    if (field.required || params.has(field.name)) value = params.number(field.name);
  }
  void operator()(const Field& field, bool& value) {
    if (params.has(field.name)) value = params.boolean(field.name);
  }
  void operator()(const Field& field, std::vector<double>& values) { values = params.numbers(field.name); }
  void operator()(const Field& field, std::optional<double>& value) {
    if (params.has(field.name)) value = params.number(field.name);
  }
  void operator()(const Field& field, std::optional<int>& value) {
    if (!params.has(field.name)) return;
    value = static_cast<int>(
        params.integer(field.name, static_cast<std::int64_t>(field.min), static_cast<std::int64_t>(field.max)));
  }
};

template <class Variant>
Json alternative_to_json(const Variant& alternative) {
  return std::visit(
      [](const auto& law) {
        Json json;
        json["name"] = std::string(std::remove_cvref_t<decltype(law)>::name);
        Json& params = json["params"] = Json::object();
        visit_fields(law, Writer{params});
        return json;
      },
      alternative);
}

}  // namespace

Json method_to_json(const Method& method) {
  Json json = alternative_to_json(method.law);
  visit_shared(method, Writer{json["params"]});
  for (const Modifier& modifier : method.modifiers) json["modifiers"].push_back(alternative_to_json(modifier));
  return json;
}

Method method_from_json(ObjectReader reader) {
  // The law
  Method method;
  const std::string name = reader.text("name");
  const std::optional<Law> law = law_named(name);
  if (!law) reader.reject("name", ErrorCode::invalid_argument, unknown_method(name).message);
  method.law = *law;
  ObjectReader params = reader.object("params");
  std::visit([&](auto& l) { visit_fields(l, Reader{params}); }, method.law);
  visit_shared(method, Reader{params});
  params.finish();

  // The modifiers
  if (reader.has("modifiers")) {
    const Json& list = reader.array("modifiers");
    if (list.empty()) reader.reject("modifiers", ErrorCode::malformed, "expected at least one, or no such field");
    std::size_t index = 0;
    for (const Json& element : list) {
      ObjectReader part(element, reader.path("modifiers") + "[" + std::to_string(index++) + "]");
      const std::string modifier_name = part.text("name");
      std::optional<Modifier> modifier = modifier_named(modifier_name);
      if (!modifier) {
        part.reject("name", ErrorCode::invalid_argument,
                    "expected cope, clip or resonance, found \"" + modifier_name + "\"");
      }
      ObjectReader modifier_params = part.object("params");
      std::visit([&](auto& m) { visit_fields(m, Reader{modifier_params}); }, *modifier);
      modifier_params.finish();
      part.finish();
      method.modifiers.push_back(*modifier);
    }
  }
  reader.finish();
  return method;
}

}  // namespace mrrope::plan

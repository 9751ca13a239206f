// SPDX-License-Identifier: MIT
#include "plan/method_names.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "base/unicode.h"
#include "mrrope/catalogue.h"

namespace mrrope::plan {

namespace {

template <class Variant, std::size_t... Index>
std::optional<Variant> alternative_named(std::string_view name, std::index_sequence<Index...> /*indices*/) {
  std::optional<Variant> found;
  ((std::variant_alternative_t<Index, Variant>::name == name
        ? void(found = std::variant_alternative_t<Index, Variant>{})
        : void()),
   ...);
  return found;
}

// A name or an alias, in any case, as the name it stands for; empty for any other text.
std::string_view canonical(std::string_view name) {
  const std::string asked = base::lower_case(name);
  for (const MethodInfo& info : method_catalogue()) {
    if (info.name == asked) return info.name;
    if (std::find(info.aliases.begin(), info.aliases.end(), asked) != info.aliases.end()) return info.name;
  }
  return {};
}

}  // namespace

std::optional<Law> law_named(std::string_view name) {
  return alternative_named<Law>(canonical(name), std::make_index_sequence<std::variant_size_v<Law>>{});
}

std::optional<Modifier> modifier_named(std::string_view name) {
  return alternative_named<Modifier>(canonical(name), std::make_index_sequence<std::variant_size_v<Modifier>>{});
}

Error unknown_method(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MethodInfo& info : method_catalogue()) {
    names.push_back(info.name);
    names.insert(names.end(), info.aliases.begin(), info.aliases.end());
  }
  std::string message = "unknown method \"" + std::string(name) + "\"";
  const std::string_view guess = base::nearest(base::lower_case(name), names);
  if (!guess.empty()) message += "; did you mean " + std::string(guess) + "?";
  return {ErrorCode::invalid_argument, message + " (mrrope methods lists all)", ""};
}

}  // namespace mrrope::plan

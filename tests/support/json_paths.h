// SPDX-License-Identifier: MIT
//
// Every place in a JSON document, for tests that spoil them one by one.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace mrrope::test {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

// All paths; of lists only the first and the last element.
inline void collect(const Json& value, const Pointer& at, std::vector<Pointer>& out) {
  if (!at.empty()) out.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) collect(member, at / key, out);
  } else if (value.is_array() && !value.empty()) {
    collect(value.front(), at / std::size_t{0}, out);
    if (value.size() > 1) collect(value.back(), at / (value.size() - 1), out);
  }
}

}  // namespace mrrope::test

// SPDX-License-Identifier: MIT
//
// Edits of JSON text that leave every other byte alone: numbers keep their digits, strings their escapes, lists their
// line breaks. A parser forgets all of these.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace mrrope::formats {

// "a.b.c" as keys; no value for an empty path or an empty key.
std::optional<std::vector<std::string>> split_path(std::string_view path);

// The value at a path, or nullptr.
const base::Json* value_at(const base::Json& root, const std::vector<std::string>& keys);

// The text with the value at the path replaced, or added to the end of its object, laid out as the text is.
// Domain: valid JSON; the object around the value exists.
std::string with_value(std::string_view text, const std::vector<std::string>& keys, const base::Json& value);

// The text without the member. Domain: valid JSON; the member exists.
std::string without_value(std::string_view text, const std::vector<std::string>& keys);

}  // namespace mrrope::formats

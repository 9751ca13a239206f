// SPDX-License-Identifier: MIT
//
// From a name to a law or a modifier with its default parameters.
#pragma once

#include <optional>
#include <string_view>

#include "mrrope/methods.h"
#include "mrrope/result.h"

namespace mrrope::plan {

// Names and aliases in any case, as people write them (YaRN); nothing for any other text.
std::optional<Law> law_named(std::string_view name);
std::optional<Modifier> modifier_named(std::string_view name);

// "unknown method "yarm"; did you mean yarn? …".
Error unknown_method(std::string_view name);

}  // namespace mrrope::plan

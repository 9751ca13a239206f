// SPDX-License-Identifier: MIT
//
// "One of the special magic numbers for amber-lantern is: 1234567.": the words RULER's niah tasks share.
#pragma once

#include <span>
#include <string>

#include "tasks/random.h"

namespace mrrope::eval::drafts {

enum class MagicType { numbers, uuids };

std::string magic_value(Random& random, MagicType type);
// Always in the plural, as RULER's.
std::string magic_needle(MagicType type, std::string_view key, std::string_view value);

struct MagicWords {
  std::string instruction, question, prefix;
};
// In the singular if one value is asked for.
MagicWords magic_words(MagicType type, std::span<const std::string> keys, std::size_t values);

}  // namespace mrrope::eval::drafts

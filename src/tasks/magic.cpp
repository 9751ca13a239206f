// SPDX-License-Identifier: MIT
#include "tasks/magic.h"

#include <fmt/format.h>

namespace mrrope::eval::drafts {

namespace {

std::string_view name_of(MagicType type) { return type == MagicType::numbers ? "number" : "uuid"; }

// "a", "a and b", "a, b, and c".
std::string listed(std::span<const std::string> keys) {
  if (keys.size() == 1) return keys[0];
  if (keys.size() == 2) return keys[0] + " and " + keys[1];
  return fmt::format("{}, and {}", fmt::join(keys.first(keys.size() - 1), ", "), keys.back());
}

}  // namespace

std::string magic_value(Random& random, MagicType type) {
  return type == MagicType::numbers ? random_digits(random, 7) : random_uuid(random);
}

std::string magic_needle(MagicType type, std::string_view key, std::string_view value) {
  return fmt::format("One of the special magic {}s for {} is: {}.", name_of(type), key, value);
}

MagicWords magic_words(MagicType type, std::span<const std::string> keys, std::size_t values) {
  const std::string_view name = name_of(type);
  const std::string key = listed(keys);
  if (values == 1) {
    return {
        fmt::format("A special magic {} is hidden in the text below. Memorize it, you will be asked for it.\n", name),
        fmt::format("What is the special magic {} for {} in the text above?\n", name, key),
        fmt::format("The special magic {} for {} in the text is", name, key)};
  }
  return {
      fmt::format("Special magic {}s are hidden in the text below. Memorize them, you will be asked for them.\n", name),
      fmt::format("What are all the special magic {}s for {} in the text above?\n", name, key),
      fmt::format("The special magic {}s for {} in the text are", name, key)};
}

}  // namespace mrrope::eval::drafts

// SPDX-License-Identifier: MIT
#include "tasks/random.h"

#include <fmt/format.h>

#include "tasks/words.h"

namespace mrrope::eval::drafts {

std::string random_digits(Random& random, int count) {
  std::string digits(1, static_cast<char>('1' + random.below(9)));
  while (static_cast<int>(digits.size()) < count) digits += static_cast<char>('0' + random.below(10));
  return digits;
}

std::string random_uuid(Random& random) {
  const std::uint64_t high = (random.next() & 0xffffffffffff0fff) | 0x4000;
  const std::uint64_t low = (random.next() & 0x3fffffffffffffff) | 0x8000000000000000;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

std::string random_letters(Random& random, int count) {
  std::string letters;
  for (int i = 0; i < count; ++i) letters += static_cast<char>('a' + random.below(26));
  return letters;
}

std::string random_pair(Random& random) {
  const std::string_view adjective = adjectives()[random.below(adjectives().size())];
  const std::string_view noun = nouns()[random.below(nouns().size())];
  return fmt::format("{}-{}", adjective, noun);
}

}  // namespace mrrope::eval::drafts

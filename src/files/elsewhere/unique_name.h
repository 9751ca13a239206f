// SPDX-License-Identifier: MIT
//
// Names that are hard to guess.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace mrrope::base {

// Six letters or digits.
inline std::string unique_letters() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string letters;
  for (int i = 0; i < 6; ++i) letters += kLetters[random() % kLetters.size()];
  return letters;
}

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
//
// Sentences about people, and questions that are answered by one of them without a word in common: "Anouk sells
// flowers beside the Eiffel Tower." and "Who has been to France?".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/random.h"

namespace mrrope::eval::drafts {

struct Implied {
  std::string question;
  std::vector<std::string> sentences;  // the first answers it; the others are of the same kind about others
  std::vector<std::string> names;      // whom each is about
};
// `count` sentences. Domain: 1 to 8.
Implied implied(Random& random, std::size_t count);

// All that may be drawn, for tests: names, and the sentence and question of each fact, about "NAME".
std::span<const std::string_view> people();
std::vector<Implied> every_fact();

}  // namespace mrrope::eval::drafts

// SPDX-License-Identifier: MIT
//
// What needles are hidden in, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/draft.h"

namespace mrrope::eval::drafts {

// The first words of a text, on one line; after its end comes its beginning. White space and control characters are
// spaces. A word of more than 24 bytes counts as several, so that scripts without spaces grow smoothly too.
// Domain: the text has a word.
std::string prose(std::string_view text, std::int64_t words);

// The end of the first words of a text, which is left as it is; and how many there were.
struct Cut {
  std::size_t bytes = 0;
  std::int64_t words = 0;
};
Cut cut_after(std::string_view text, std::int64_t words);

// None if `text` has enough words to be a haystack at all; it need not have enough for the length.
Result<void> check_haystack(std::string_view text);

// The five sentences of the pass key test, over and over, one line each; the last line may be cut.
std::string noise(std::int64_t words);

// Where needles may go. In prose: before the sentence nearest to the depth, or the word if no sentence begins within a
// twentieth of the text, or any character. In lines: a line of their own.
enum class Places { sentences, lines };

struct Hidden {
  std::string text = {};
  std::vector<Range> needles = {};  // in the order in which they were given
};
Hidden hide(std::string_view haystack, Places places, std::span<const std::string> needles,
            std::span<const double> depths);

}  // namespace mrrope::eval::drafts

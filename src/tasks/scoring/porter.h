// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace mrrope::eval::scoring {

// The stem of an English word: Porter, "An algorithm for suffix stripping", Program 14.3 (1980), with the changes of
// NLTK's PorterStemmer in its default mode, which rouge_score uses. Lower-case letters and digits; words of one or two
// characters are their own stems. "sunny" -> "sunni", "relational" -> "relat". Cost: linear.
std::string porter_stem(std::string_view word);

}  // namespace mrrope::eval::scoring

// SPDX-License-Identifier: MIT
//
// RULER's rules (scripts/eval/evaluate.py and scripts/eval/synthetic/constants.py), and what comes before any rule.
#include <algorithm>
#include <cassert>

#include "base/unicode.h"
#include "mrrope/scoring.h"

namespace mrrope::eval {

namespace {

std::ptrdiff_t found(std::span<const std::string> references, std::string_view prediction) {
  assert(!references.empty());
  const std::string text = base::lower_case(prediction);
  return std::count_if(references.begin(), references.end(), [&](const std::string& reference) {
    return text.find(base::lower_case(reference)) != std::string::npos;
  });
}

}  // namespace

std::string without_thinking(std::string_view answer) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  std::string said;
  for (;;) {
    const std::size_t open = answer.find(kOpen), close = answer.find(kClose);
    if (open == close) return said += answer;  // neither
    if (close == std::string_view::npos) return "";
    if (open < close) {
      said += answer.substr(0, open);
    } else {
      said.clear();
    }
    answer.remove_prefix(close + kClose.size());
  }
}

std::string clean_prediction(std::string_view answer) {
  std::string text(base::stripped(answer));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = '\n';
  }
  return std::string(base::stripped(text));
}

double string_match_all(std::span<const std::string> references, std::string_view prediction) {
  return static_cast<double>(found(references, prediction)) / static_cast<double>(references.size());
}

double string_match_part(std::span<const std::string> references, std::string_view prediction) {
  return found(references, prediction) > 0 ? 1 : 0;
}

}  // namespace mrrope::eval

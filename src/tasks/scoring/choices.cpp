// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "mrrope/scoring.h"

namespace mrrope::eval {

namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// ln(e^a + e^b), without leaving the range of a double.
double log_sum(double a, double b) {
  const double greater = std::max(a, b);
  return greater == kImpossible ? kImpossible : greater + std::log1p(std::exp(std::min(a, b) - greater));
}

}  // namespace

std::optional<char> longbench2_letter(std::string_view answer) {
  constexpr std::string_view kPhrase = "The correct answer is ";
  std::string text(answer);
  std::erase(text, '*');
  const auto is_letter = [&](std::size_t at) { return at < text.size() && text[at] >= 'A' && text[at] <= 'D'; };
  for (const bool parentheses : {true, false}) {
    for (std::size_t at = 0; (at = text.find(kPhrase, at)) != std::string::npos;) {
      at += kPhrase.size();
      if (!parentheses && is_letter(at)) return text[at];
      if (parentheses && is_letter(at + 1) && text[at] == '(' && text.substr(at + 2, 1) == ")") return text[at + 1];
    }
  }
  return std::nullopt;
}

std::optional<char> likeliest_letter(std::span<const double> plain, std::span<const double> spaced) {
  assert(plain.size() == spaced.size() && plain.size() <= 26);
  double best = kImpossible;
  std::optional<char> letter;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (std::isnan(plain[i]) || std::isnan(spaced[i])) return std::nullopt;
    const double both = log_sum(plain[i], spaced[i]);
    if (both > best) {
      best = both;
      letter = static_cast<char>('A' + i);
    }
  }
  return letter;
}

}  // namespace mrrope::eval

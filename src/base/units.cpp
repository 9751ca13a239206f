// SPDX-License-Identifier: MIT
#include "mrrope/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace mrrope {

namespace {

constexpr std::int64_t kKilo = 1024;
constexpr std::int64_t kMega = kKilo * kKilo;

}  // namespace

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || stop != end || !std::isfinite(value)) {
    return Error{ErrorCode::malformed, "expected a number, found \"" + std::string(text) + "\"", ""};
  }
  return value;
}

Result<std::int64_t> parse_context(std::string_view text) {
  std::int64_t unit = 1;
  std::string_view digits = text;
  if (!text.empty()) {
    const char suffix = text.back();
    if (suffix == 'k' || suffix == 'K') unit = kKilo;
    if (suffix == 'm' || suffix == 'M') unit = kMega;
    if (unit != 1) digits.remove_suffix(1);
  }
  const Result<double> number = parse_number(digits);
  if (!number) {
    return Error{ErrorCode::malformed,
                 "expected a length in tokens such as 32768, 32k or 1M, found \"" + std::string(text) + "\"", ""};
  }
  const double tokens = *number * static_cast<double>(unit);
  if (!(tokens >= 1) || tokens > static_cast<double>(kMaxContext) || tokens != std::floor(tokens)) {
    return Error{ErrorCode::invalid_argument,
                 "expected a whole number of tokens between 1 and 2^40, found \"" + std::string(text) + "\"", ""};
  }
  return static_cast<std::int64_t>(tokens);
}

std::string format_context(std::int64_t tokens) {
  if (tokens > 0 && tokens % kMega == 0) return std::to_string(tokens / kMega) + "M";
  if (tokens > 0 && tokens % kKilo == 0) return std::to_string(tokens / kKilo) + "k";
  return std::to_string(tokens);
}

std::string format_number(double value) {
  std::array<char, 32> buffer{};
  // Shortest round trip; plain notation where it is short, as people write bases and factors.
  auto* begin = buffer.data();
  auto* end = begin + buffer.size();
  const double magnitude = std::fabs(value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e9);
  const auto result =
      std::to_chars(begin, end, value, plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {begin, result.ptr};
}

}  // namespace mrrope

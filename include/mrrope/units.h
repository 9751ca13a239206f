// SPDX-License-Identifier: MIT
//
// Context lengths and numbers as people type and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mrrope/result.h"

namespace mrrope {

// The longest context the toolkit accepts. Far beyond any use: it keeps every product of a length and a count inside
// 64 bits and every length exact in a double.
inline constexpr std::int64_t kMaxContext = std::int64_t{1} << 40;

// "32768", "32k" = 32768, "1M" = 1048576, "1.5k" = 1536. k and M are 1024 and 1024 * 1024, in either case.
// Errors: anything else, a fraction of a token, or a value outside 1 … kMaxContext.
Result<std::int64_t> parse_context(std::string_view text);

// The shortest spelling that parse_context reads back exactly: 32768 -> "32k", 1048576 -> "1M", 5000 -> "5000".
std::string format_context(std::int64_t tokens);

// The shortest decimal that reads back as the same double, independent of locale: 0.1 -> "0.1", 10000.0 -> "10000".
std::string format_number(double value);

// The whole text as a finite number, independent of locale.
Result<double> parse_number(std::string_view text);

}  // namespace mrrope

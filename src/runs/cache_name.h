// SPDX-License-Identifier: MIT
//
// Rows that were measured with another type of cache than their run's: "mrrope-pro:cache=q4_0" is the plan mrrope-pro,
// spelt as methods spell their parameters, and a row like any other.
#pragma once

#include <string>
#include <string_view>

namespace mrrope::eval {

inline constexpr std::string_view kCacheMark = ":cache=";

inline std::string with_cache(std::string_view method, std::string_view type) {
  return std::string(method).append(kCacheMark).append(type);
}
// "q4_0"; empty: the run's own.
inline std::string_view cache_of(std::string_view method) {
  const std::size_t mark = method.rfind(kCacheMark);
  return mark == std::string_view::npos ? std::string_view() : method.substr(mark + kCacheMark.size());
}
inline std::string_view without_cache(std::string_view method) { return method.substr(0, method.rfind(kCacheMark)); }

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Paths are texts in UTF-8 everywhere in mrrope, and std::filesystem takes them through these two. Without them the C++
// library of Windows would read a text as the letters of an old code page. Elsewhere the bytes stay as they are,
// whatever they spell.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace mrrope::base {

inline std::filesystem::path to_path(std::string_view text) {
  return std::u8string_view(reinterpret_cast<const char8_t*>(text.data()), text.size());
}

inline std::string to_text(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

}  // namespace mrrope::base

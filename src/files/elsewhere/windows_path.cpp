// SPDX-License-Identifier: MIT
#ifdef _WIN32
#include "files/elsewhere/windows_path.h"

#include <windows.h>

namespace mrrope::base::calls {

std::wstring wide_text(const std::string& text) {
  const auto size = static_cast<int>(text.size());
  std::wstring out(text.size(), L'\0');  // which is enough
  out.resize(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, out.data(), size)));
  return out;
}

std::wstring windows_path(const std::string& path) {
  constexpr std::size_t kShort = 240;  // a folder needs room for a name of DOS
  std::wstring given = wide_text(path);
  if (given.starts_with(LR"(\\?\)") || given.starts_with(LR"(\\.\)")) return given;
  std::wstring full(32768, L'\0');
  const DWORD length = ::GetFullPathNameW(given.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
  if (length <= kShort || length >= full.size()) return given;
  full.resize(length);
  return full.starts_with(LR"(\\)") ? LR"(\\?\UNC)" + full.substr(1) : LR"(\\?\)" + full;
}

}  // namespace mrrope::base::calls
#endif

// SPDX-License-Identifier: MIT
#include "base/shell.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/text.h"

namespace mrrope::base {

std::string shell_quoted(std::string_view word) {
#ifdef _WIN32
  return windows_quoted(word);
#else
  return posix_shell_quoted(word);
#endif
}

std::string windows_quoted(std::string_view word) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./\\:=+";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "\"";
  std::size_t backslashes = 0;
  for (const char c : word) {
    if (c == '"') quoted.append(backslashes + 1, '\\');  // those before a quote are doubled, and one for the quote
    backslashes = c == '\\' ? backslashes + 1 : 0;
    quoted += c;
  }
  return quoted.append(backslashes, '\\') + "\"";
}

std::string posix_shell_quoted(std::string_view word) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  if (printable(word, word.size()) != word) {  // bytes that a terminal would obey, by their numbers
    std::string quoted = "$'";
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte > 0x7e) quoted += fmt::format("\\x{:02x}", byte);
      else if (c == '\'' || c == '\\') quoted += {'\\', c};
      else quoted += c;
    }
    return quoted + "'";
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') quoted += "'\\''";  // ends the quotes, an apostrophe, begins them again
    else quoted += c;
  }
  return quoted + "'";
}

}  // namespace mrrope::base

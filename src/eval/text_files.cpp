// SPDX-License-Identifier: MIT
#include "eval/text_files.h"

#include <glob.h>

#include <filesystem>

namespace mrrope::eval {

Result<std::vector<std::string>> files_of(std::span<const std::string> patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const int status = ::glob(pattern.c_str(), GLOB_TILDE, nullptr, &found);
    for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
      if (std::filesystem::is_regular_file(found.gl_pathv[i])) files.emplace_back(found.gl_pathv[i]);
    }
    ::globfree(&found);
    if (status != 0) return Error{ErrorCode::io, "no such file", pattern};
  }
  if (files.empty()) return Error{ErrorCode::io, "no text files there", patterns.empty() ? "" : patterns.front()};
  return files;
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include "measure/text_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/paths.h"
#include "files/file.h"
#include "files/folders.h"
#include "mrrope/task_files.h"

namespace mrrope::eval {

Result<std::vector<std::string>> files_of(std::span<const std::string> patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> found = base::paths_like(pattern);
    if (found.empty()) return Error{ErrorCode::io, "no such file", pattern};
    for (const std::string& path : found) {
      std::error_code unseen;
      const std::filesystem::file_status kind = std::filesystem::status(base::to_path(path), unseen);
      if (std::filesystem::is_regular_file(kind)) {
        files.push_back(path);
      } else if (path == pattern) {  // meant, not just found: a folder, or a pipe that would be waited for
        return Error{
            ErrorCode::io,
            std::filesystem::is_directory(kind) ? "a folder; name its files: " + path + "/*" : "not a regular file",
            path};
      }
    }
  }
  if (files.empty()) return Error{ErrorCode::io, "no text files there", patterns.empty() ? "" : patterns.front()};
  return files;
}

Result<std::string> beginning_of(const std::string& path, std::size_t most) {
  std::string text;
  if (holds_documents(path)) {
    const Result<void> read = read_texts(path, [&](std::string&& document) {
      text += (text.empty() ? "" : "\n\n") + document;
      return text.size() < most;
    });
    if (!read) return read.error();
    text.resize(std::min(text.size(), most));
    return text;
  }
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  text.resize(static_cast<std::size_t>(std::min<std::uint64_t>(*size, most)));
  const Result<std::size_t> bytes = file->read_at(0, base::bytes_of(text));
  if (!bytes) return bytes.error();
  text.resize(*bytes);
  return text;
}

}  // namespace mrrope::eval

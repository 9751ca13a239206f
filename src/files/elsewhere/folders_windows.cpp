// SPDX-License-Identifier: MIT
#ifdef _WIN32
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/paths.h"
#include "files/elsewhere/calls.h"
#include "files/elsewhere/unique_name.h"
#include "files/elsewhere/windows_path.h"
#include "files/file.h"
#include "files/folders.h"

namespace mrrope::base {

namespace {

bool make(const std::string& path) { return ::CreateDirectoryW(calls::windows_path(path).c_str(), nullptr) != 0; }

}  // namespace

Result<void> make_folder(const std::string& path) {
  if (make(path) || calls::kind(path, File::Links::follow) == calls::Kind::folder) return {};
  return os_error("make the folder", path, ::GetLastError() == ERROR_PATH_NOT_FOUND ? ENOENT : EACCES);
}

Result<std::string> make_unique_folder(const std::string& start) {
  for (int tries = 10;; --tries) {
    std::string name = start + "." + unique_letters();
    if (make(name)) return name;
    if (tries == 0 || !is_taken(name)) return os_error("make the folder", start, EACCES);
  }
}

Result<void> name_folder(const std::string& folder, const std::string& name) {
  if (calls::rename(folder, name, false)) return {};
  if (!is_taken(name)) return os_error("name the finished folder", name, errno);
  return Error{ErrorCode::invalid_argument, "exists already; take another name, or remove it", name};
}

std::vector<std::string> paths_like(const std::string& pattern) {
  std::vector<std::string> paths;
  const std::size_t name = pattern.find_last_of("/\\:") + 1;
  if (pattern.find_first_of("*?", name) == std::string::npos) {
    if (is_taken(pattern)) paths.push_back(pattern);
    return paths;
  }
  WIN32_FIND_DATAW found{};
  const HANDLE search = ::FindFirstFileW(calls::windows_path(pattern).c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return paths;
  do {
    const std::string entry = to_text(static_cast<const wchar_t*>(found.cFileName));
    if (!entry.starts_with('.')) paths.push_back(pattern.substr(0, name) + entry);  // as in a shell
  } while (::FindNextFileW(search, &found) != 0);
  ::FindClose(search);
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Connections are no files here.
std::uint64_t most_open_files() noexcept { return std::numeric_limits<std::uint64_t>::max(); }

}  // namespace mrrope::base
#endif

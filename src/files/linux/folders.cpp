// SPDX-License-Identifier: MIT
#include "files/folders.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "files/file.h"

namespace mrrope::base {

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return os_error("make the folder", path, errno);
  return {};
}

Result<std::string> make_unique_folder(const std::string& start) {
  std::string name = start + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return os_error("make the folder", start, errno);
  return name;
}

Result<void> name_folder(const std::string& folder, const std::string& name) {
  // Without the flag: a file system that does not know it. rename(2) itself never replaces a folder with files in it.
  if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) != 0 &&
      (errno != EINVAL || std::rename(folder.c_str(), name.c_str()) != 0)) {
    if (errno != EEXIST && errno != ENOTEMPTY) return os_error("name the finished folder", name, errno);
    return Error{ErrorCode::invalid_argument, "exists already; take another name, or remove it", name};
  }
  return sync_folder_of(name);
}

std::vector<std::string> paths_like(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

std::uint64_t most_open_files() noexcept {
  rlimit files{};
  const bool limited = ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
  return limited ? files.rlim_cur : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace mrrope::base

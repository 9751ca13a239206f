// SPDX-License-Identifier: MIT
#include "files/links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "files/file.h"

namespace mrrope::base {

Result<void> add_link(const std::string& way, const std::string& link) {
  if (::symlink(way.c_str(), link.c_str()) != 0) return os_error("make the link", link, errno);
  return {};
}

bool is_symbolic_link(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

bool is_added_link(const std::string& path) { return is_symbolic_link(path); }

}  // namespace mrrope::base

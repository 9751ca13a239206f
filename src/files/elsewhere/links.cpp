// SPDX-License-Identifier: MIT
#include "files/links.h"

#include <cerrno>

#include "base/paths.h"
#include "files/elsewhere/calls.h"

namespace mrrope::base {

Result<void> add_link(const std::string& way, const std::string& link) {
  const std::string end = to_text(to_path(link).parent_path() / to_path(way));
  const calls::Kind kind = calls::kind(end, File::Links::follow);
  if (calls::add_symbolic_link(way, link, kind == calls::Kind::folder)) return {};
  if (errno != ENOTSUP && errno != EPERM && errno != EACCES) return os_error("make the link", link, errno);
  if (kind == calls::Kind::file && calls::add_name(end, link)) return {};
  return Error{ErrorCode::unsupported,
               "Windows makes symbolic links in its developer mode, or for an administrator, and hard links only to "
               "files of the same disk. Switch that mode on, or write a copy",
               link};
}

bool is_symbolic_link(const std::string& path) { return calls::kind(path, File::Links::refuse) == calls::Kind::link; }

bool is_added_link(const std::string& path) {
  if (is_symbolic_link(path)) return true;
  const Result<File> file = File::open(path, File::Access::read);
  const Result<FileStatus> status = file ? file->status() : Result<FileStatus>(file.error());
  return calls::kHardLinks && status && status->links > 1;
}

}  // namespace mrrope::base

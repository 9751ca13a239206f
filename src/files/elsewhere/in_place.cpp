// SPDX-License-Identifier: MIT
#include "files/in_place.h"

#include <cerrno>

#include "files/elsewhere/calls.h"

namespace mrrope::base {

namespace {

Result<void> lock_as(bool exclusive, const File& file) {
  if (calls::lock(file.descriptor(), exclusive)) return {};
  return Error{ErrorCode::io, "another process is changing this file", file.path()};
}

}  // namespace

bool can_shift_front() noexcept { return false; }

Result<void> lock_for_change(const File& file) { return lock_as(true, file); }

Result<void> check_nobody_changes(const File& file) { return lock_as(false, file); }

Result<File> lock_folder(const std::string& folder) {
  File held(calls::lock_folder(folder), folder);
  if (held.descriptor() >= 0) return held;
  if (errno == EWOULDBLOCK) return Error{ErrorCode::io, "another process is changing this folder", folder};
  return os_error("open the folder", folder, errno);
}

Result<void> shift_front(File& file, std::int64_t) {
  return Error{ErrorCode::unsupported, "only Linux inserts a range at the front of a file", file.path()};
}

bool add_name(const std::string& path, const std::string& name) { return calls::add_name(path, name); }

Result<void> rename_file(const std::string& path, const std::string& name) {
  if (!calls::rename(path, name, true)) return os_error("rename", name, errno);
  return {};
}

bool is_own(const FileStatus& status) noexcept { return status.owner == calls::user(); }

}  // namespace mrrope::base

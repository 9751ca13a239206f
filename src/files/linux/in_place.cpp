// SPDX-License-Identifier: MIT
#include "files/in_place.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace mrrope::base {

namespace {

Result<void> lock_as(int kind, const File& file, const char* message) {
  while (::flock(file.descriptor(), kind | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Error{ErrorCode::io, message, file.path()};
    if (errno != EINTR) return {};  // no locks here
  }
  return {};
}

constexpr const char* kFileIsChanged = "another process is changing this file";

}  // namespace

Result<void> lock_for_change(const File& file) { return lock_as(LOCK_EX, file, kFileIsChanged); }

Result<void> check_nobody_changes(const File& file) { return lock_as(LOCK_SH, file, kFileIsChanged); }

Result<File> lock_folder(const std::string& folder) {
  File held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
  if (held.descriptor() < 0) return os_error("open the folder", folder, errno);
  if (const auto ok = lock_as(LOCK_EX, held, "another process is changing this folder"); !ok) return ok.error();
  return held;
}

bool can_shift_front() noexcept { return true; }

Result<void> shift_front(File& file, std::int64_t bytes) {
  const int mode = bytes > 0 ? FALLOC_FL_INSERT_RANGE : FALLOC_FL_COLLAPSE_RANGE;
  if (::fallocate(file.descriptor(), mode, 0, static_cast<off_t>(bytes > 0 ? bytes : -bytes)) == 0) return {};
  if (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS) {
    return Error{
        ErrorCode::unsupported,
        "the file system cannot insert a range at the front of a file (ext4 and xfs can); write a copy instead",
        file.path()};
  }
  return os_error("insert a range", file.path(), errno);
}

bool add_name(const std::string& path, const std::string& name) {
  return ::linkat(AT_FDCWD, path.c_str(), AT_FDCWD, name.c_str(), 0) == 0;
}

Result<void> rename_file(const std::string& path, const std::string& name) {
  if (std::rename(path.c_str(), name.c_str()) != 0) return os_error("rename", name, errno);
  return sync_folder_of(name);
}

bool is_own(const FileStatus& status) noexcept { return status.owner == static_cast<std::uint32_t>(::geteuid()); }

}  // namespace mrrope::base

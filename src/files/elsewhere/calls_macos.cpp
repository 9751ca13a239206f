// SPDX-License-Identifier: MIT
#ifndef _WIN32
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "files/elsewhere/calls.h"

namespace mrrope::base::calls {

namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;
// O_NONBLOCK: opening a pipe must not wait for its writer
constexpr int kAlways = O_CLOEXEC | O_NONBLOCK;

int stat_of(const std::string& path, File::Links links, struct stat& found) noexcept {
  return links == File::Links::follow ? ::stat(path.c_str(), &found) : ::lstat(path.c_str(), &found);
}

}  // namespace

int open(const std::string& path, Open how, File::Links links) noexcept {
  const int refuse = links == File::Links::refuse ? O_NOFOLLOW : 0;
  return ::open(path.c_str(), (how == Open::read ? O_RDONLY : O_RDWR) | refuse | kAlways);
}

int create(const std::string& path) noexcept { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kAlways, 0666); }

bool keep(int /*descriptor*/) noexcept { return true; }

void close(int descriptor) noexcept { ::close(descriptor); }

std::int64_t read(int descriptor, std::uint64_t offset, std::byte* into, std::size_t length) noexcept {
  return ::pread(descriptor, into, std::min(length, kMaxTransfer), static_cast<off_t>(offset));
}

std::int64_t write(int descriptor, std::uint64_t offset, const std::byte* from, std::size_t length) noexcept {
  return ::pwrite(descriptor, from, std::min(length, kMaxTransfer), static_cast<off_t>(offset));
}

bool resize(int descriptor, std::uint64_t size) noexcept {
  return ::ftruncate(descriptor, static_cast<off_t>(size)) == 0;
}

// F_FULLFSYNC: on macOS, fsync leaves the bytes in the drive's cache.
bool sync(int descriptor) noexcept { return ::fcntl(descriptor, F_FULLFSYNC) == 0 || ::fsync(descriptor) == 0; }

bool is_regular(int descriptor) noexcept {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

std::optional<FileStatus> status(int descriptor) noexcept {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return std::nullopt;
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
  };
  return FileStatus{.identity = {static_cast<std::uint64_t>(found.st_dev), found.st_ino},
                    .size = static_cast<std::uint64_t>(found.st_size),
                    .links = found.st_nlink,
                    .mode = found.st_mode & 07777U,
                    .owner = found.st_uid,
                    .group = found.st_gid,
                    .modified = nanoseconds(found.st_mtimespec),
                    .changed = nanoseconds(found.st_ctimespec)};
}

Kind kind(const std::string& path, File::Links links) noexcept {
  struct stat found {};
  if (stat_of(path, links, found) != 0) return Kind::none;
  return S_ISREG(found.st_mode)   ? Kind::file
         : S_ISDIR(found.st_mode) ? Kind::folder
         : S_ISLNK(found.st_mode) ? Kind::link
                                  : Kind::other;
}

std::optional<FileIdentity> identity(const std::string& path, File::Links links) noexcept {
  struct stat found {};
  if (stat_of(path, links, found) != 0) return std::nullopt;
  return FileIdentity{static_cast<std::uint64_t>(found.st_dev), found.st_ino};
}

bool remove(const std::string& path) noexcept { return ::unlink(path.c_str()) == 0; }

bool rename(const std::string& from, const std::string& to, bool replace) noexcept {
  return (replace ? ::rename(from.c_str(), to.c_str()) : ::renamex_np(from.c_str(), to.c_str(), RENAME_EXCL)) == 0;
}

bool add_name(const std::string& path, const std::string& name) noexcept {
  return ::linkat(AT_FDCWD, path.c_str(), AT_FDCWD, name.c_str(), 0) == 0;
}

bool add_symbolic_link(const std::string& way, const std::string& link, bool /*to_folder*/) noexcept {
  return ::symlink(way.c_str(), link.c_str()) == 0;
}

void take_permissions(const std::string& /*from*/, const std::string& /*to*/) noexcept {}

void set_mode(const std::string& path, std::uint32_t mode) noexcept {
  (void)::chmod(path.c_str(), static_cast<mode_t>(mode));
}

bool lock(int descriptor, bool exclusive) noexcept {
  while (::flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno != EINTR) return errno != EWOULDBLOCK;
  }
  return true;
}

std::uint32_t user() noexcept { return ::geteuid(); }

int lock_folder(const std::string& folder) noexcept {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || lock(descriptor, true)) return descriptor;
  ::close(descriptor);
  errno = EWOULDBLOCK;
  return -1;
}

bool is_held(const std::string& /*path*/) noexcept { return false; }

bool is_device_name(const std::string& /*path*/) { return false; }

}  // namespace mrrope::base::calls
#endif

// SPDX-License-Identifier: MIT
#include "files/elsewhere/calls.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#ifdef _WIN32
#include <io.h>
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace mrrope::base::calls {

namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

}  // namespace

#ifdef _WIN32

int open(const std::filesystem::path& path, bool write, bool create) noexcept {
  const int flags = (write ? _O_RDWR : _O_RDONLY) | _O_BINARY | _O_NOINHERIT | (create ? _O_CREAT | _O_EXCL : 0);
  return ::_wopen(path.c_str(), flags, _S_IREAD | _S_IWRITE);
}

void close(int descriptor) noexcept { ::_close(descriptor); }

// No two threads use one File at a time, so that nobody moves the position in between.
std::int64_t read(int descriptor, std::uint64_t offset, std::byte* into, std::size_t length) noexcept {
  if (::_lseeki64(descriptor, static_cast<std::int64_t>(offset), SEEK_SET) < 0) return -1;
  return ::_read(descriptor, into, static_cast<unsigned>(std::min(length, kMaxTransfer)));
}

std::int64_t write(int descriptor, std::uint64_t offset, const std::byte* from, std::size_t length) noexcept {
  if (::_lseeki64(descriptor, static_cast<std::int64_t>(offset), SEEK_SET) < 0) return -1;
  return ::_write(descriptor, from, static_cast<unsigned>(std::min(length, kMaxTransfer)));
}

bool resize(int descriptor, std::uint64_t size) noexcept {
  const int failed = ::_chsize_s(descriptor, static_cast<std::int64_t>(size));
  if (failed != 0) errno = failed;
  return failed == 0;
}

bool sync(int descriptor) noexcept { return ::_commit(descriptor) == 0; }

// The C library's fstat has no inodes.
std::optional<FileStatus> status(int descriptor) noexcept {
  BY_HANDLE_FILE_INFORMATION found{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is what the function returns
  if (::GetFileInformationByHandle(reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor)), &found) == 0) {
    errno = EIO;
    return std::nullopt;
  }
  const auto wide = [](DWORD high, DWORD low) { return (std::uint64_t{high} << 32U) | low; };
  const std::uint64_t written = wide(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime) * 100;
  return FileStatus{.identity = {found.dwVolumeSerialNumber, wide(found.nFileIndexHigh, found.nFileIndexLow)},
                    .size = wide(found.nFileSizeHigh, found.nFileSizeLow),
                    .links = found.nNumberOfLinks,
                    .mode = (found.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444U : 0666U,
                    .modified = written,
                    .changed = written};
}

#else

int open(const std::filesystem::path& path, bool write, bool create) noexcept {
  // O_NONBLOCK: opening a pipe must not wait for its writer
  const int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT | O_EXCL : 0);
  return ::open(path.c_str(), flags, 0666);
}

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

#endif

}  // namespace mrrope::base::calls

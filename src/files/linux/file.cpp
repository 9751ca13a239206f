// SPDX-License-Identifier: MIT
#include "files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>
#include <utility>

namespace mrrope::base {

namespace {

// Linux transfers at most 0x7ffff000 bytes per call; a round number below it.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

Error too_far(const std::string& path) { return {ErrorCode::io, "offset beyond what a file can have", path}; }

// off_t is signed: offsets from 2^63 on would wrap.
bool representable(std::uint64_t offset, std::size_t length) noexcept {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  return offset <= kMax && length <= kMax - offset;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Error exists(const std::string& target) {
  return {ErrorCode::invalid_argument, "exists already; it is replaced only if that is asked for", target};
}

// The name under which a file without one can be linked; needs /proc.
std::string descriptor_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// A name beside `target` that nobody else uses.
std::string temporary_name(const std::string& target) { return target + ".XXXXXX.tmp"; }

constexpr mode_t kPermissions = 07777;
constexpr mode_t kPrivate = 0600;

// As open as a file that takes this unused name would be: umask() tells only by changing it, for other threads, too.
std::uint32_t default_mode(const std::string& unused) {
  const File probe(::open(unused.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666), unused);
  if (probe.descriptor() < 0) return kPrivate;
  ::unlink(unused.c_str());
  const Result<FileStatus> status = probe.status();
  return status ? status->mode : kPrivate;
}

std::uint64_t nanoseconds(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path, File::Links links) {
  struct stat status {};
  const int failed = links == File::Links::follow ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status);
  if (failed != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

bool is_taken(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// ---- File ----------------------------------------------------------------------------------------------------------

Result<File> File::open(const std::string& path, Access access, Links links) {
  // O_NONBLOCK: opening a pipe must not wait for its writer. It has no effect on regular files.
  const int flags =
      (access == Access::read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0);
  int descriptor = ::open(path.c_str(), flags);
  // Somebody holds a lease, as files/open_elsewhere.h does for an instant; without O_NONBLOCK, open would wait
  for (int tries = 20; descriptor < 0 && errno == EAGAIN && tries > 0; --tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    descriptor = ::open(path.c_str(), flags);
  }
  if (descriptor < 0 && links == Links::refuse && errno == ELOOP) {
    return Error{ErrorCode::io, "a symbolic link, not a regular file", path};
  }
  if (descriptor < 0) return os_error("open", path, errno);
  File file(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return os_error("examine", path, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::io, "not a regular file", path};
  return file;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::uint64_t> File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return os_error("examine", path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

Result<FileIdentity> File::identity() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return os_error("examine", path_, errno);
  return FileIdentity{status.st_dev, status.st_ino};
}

Result<FileStatus> File::status() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return os_error("examine", path_, errno);
  return FileStatus{.identity = {status.st_dev, status.st_ino},
                    .size = static_cast<std::uint64_t>(status.st_size),
                    .links = status.st_nlink,
                    .mode = status.st_mode & kPermissions,
                    .owner = status.st_uid,
                    .group = status.st_gid,
                    .modified = nanoseconds(status.st_mtim),
                    .changed = nanoseconds(status.st_ctim)};
}

Result<std::uint64_t> File::block_size() const {
  struct statfs status {};
  if (::fstatfs(descriptor_, &status) != 0) return os_error("examine the file system", path_, errno);
  return static_cast<std::uint64_t>(std::max<decltype(status.f_bsize)>(status.f_bsize, 512));
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (!representable(offset, into.size())) return too_far(path_);
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t length = std::min(into.size() - done, kMaxTransfer);
    const ssize_t count = ::pread(descriptor_, into.data() + done, length, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error("read", path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Result<void> File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!representable(offset, bytes.size())) return too_far(path_);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t length = std::min(bytes.size() - done, kMaxTransfer);
    const ssize_t count = ::pwrite(descriptor_, bytes.data() + done, length, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error("write", path_, errno);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> File::resize(std::uint64_t size) {
  if (!representable(size, 0)) return too_far(path_);
  while (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) return os_error("change the size", path_, errno);
  }
  return {};
}

Result<void> File::sync() {
  if (::fsync(descriptor_) != 0) return os_error("sync to disk", path_, errno);
  return {};
}

// ---- Names ---------------------------------------------------------------------------------------------------------

Result<void> sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return os_error("open", folder, errno);
  const File handle(descriptor, folder);
  // Some file systems cannot sync a folder and say EINVAL; there is nothing better to do on them.
  if (::fsync(descriptor) != 0 && errno != EINVAL) return os_error("sync to disk", folder, errno);
  return {};
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return os_error("remove", path, errno);
  return sync_folder_of(path);
}

// ---- PendingFile ---------------------------------------------------------------------------------------------------

Result<void> check_free(const std::string& target, bool overwrite) {
  struct stat status {};
  if (!overwrite && ::lstat(target.c_str(), &status) == 0) return exists(target);
  if (overwrite && ::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return Error{ErrorCode::io, "not a regular file", target};
  }
  return {};
}

Result<PendingFile> PendingFile::create(const std::string& target, bool overwrite) {
  if (const auto ok = check_free(target, overwrite); !ok) return ok.error();

  const std::string folder = folder_of(target);
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (unnamed >= 0) {
    File file(unnamed, target);
    const Result<FileStatus> status = file.status();
    if (!status) return status.error();
    (void)::fchmod(unnamed, kPrivate);
    if (::access(descriptor_path(unnamed).c_str(), F_OK) == 0)
      return PendingFile(std::move(file), target, "", overwrite, status->mode);
  }

  std::string temporary = temporary_name(target);
  const int named = ::mkostemps(temporary.data(), 4, O_CLOEXEC);
  if (named < 0) return os_error("create a file", folder, errno);
  const std::uint32_t mode = default_mode(temporary + ".tmp");  // mkostemps makes files that only their owner can read
  return PendingFile(File(named, target), target, std::move(temporary), overwrite, mode);
}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> PendingFile::settle_mode() {
  if (like_ && ::fchown(file_.descriptor(), like_->owner, like_->group) != 0) {
    if (strict_) return os_error("keep the owner and group of the file", target_, errno);
    if (::fchown(file_.descriptor(), static_cast<uid_t>(-1), like_->group) != 0) mode_ &= ~std::uint32_t{0070};
  }
  // File systems without permissions refuse, or pretend
  (void)::fchmod(file_.descriptor(), mode_);
  return {};
}

Result<void> PendingFile::commit() {
  if (const auto ok = settle_mode(); !ok) return ok.error();
  if (const auto ok = file_.sync(); !ok) return ok.error();

  // A file without a name is linked to its target, or, to replace one, to a temporary name first: link(2) refuses to
  // replace, rename(2) refuses to keep.
  const auto link_to = [this](const std::string& name) {
    return temporary_.empty() ? ::linkat(AT_FDCWD, descriptor_path(file_.descriptor()).c_str(), AT_FDCWD, name.c_str(),
                                         AT_SYMLINK_FOLLOW)
                              : ::link(temporary_.c_str(), name.c_str());
  };
  if (overwrite_) {
    if (temporary_.empty()) {
      std::string name = temporary_name(target_);
      const int placeholder = ::mkostemps(name.data(), 4, O_CLOEXEC);  // reserves a free name
      if (placeholder < 0) return os_error("create a file", name, errno);
      ::close(placeholder);
      ::unlink(name.c_str());
      if (link_to(name) != 0) return os_error("name the finished file", name, errno);
      temporary_ = std::move(name);
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return os_error("name the finished file", target_, errno);
    temporary_.clear();
  } else {
    int failed = link_to(target_) != 0 ? errno : 0;
    if (failed == EEXIST) return exists(target_);
    if (failed != 0 && !temporary_.empty()) {  // a file system without hard links
      failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0 ? errno : 0;
      if (failed == EEXIST) return exists(target_);
      if (failed == 0) temporary_.clear();
    }
    if (failed != 0) return os_error("name the finished file", target_, failed);
    if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
  }
  return sync_folder_of(target_);
}

}  // namespace mrrope::base

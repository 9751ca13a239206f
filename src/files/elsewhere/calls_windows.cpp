// SPDX-License-Identifier: MIT
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/unicode.h"
#include "files/elsewhere/calls.h"
#include "files/elsewhere/windows_path.h"

namespace mrrope::base::calls {

namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;
constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// GetLastError() as errno.
void set_errno() noexcept {
  const DWORD error = ::GetLastError();
  switch (error) {
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_USER_MAPPED_FILE: errno = EBUSY; return;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_PATHNAME:
    case ERROR_INVALID_NAME: errno = ENOENT; return;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS: errno = EEXIST; return;
    case ERROR_DELETE_PENDING:
    case ERROR_ACCESS_DENIED: errno = EACCES; return;
    case ERROR_HANDLE_DISK_FULL:
    case ERROR_DISK_FULL: errno = ENOSPC; return;
    default: break;
  }
  const std::error_condition known =
      std::error_code(static_cast<int>(error), std::system_category()).default_error_condition();
  errno = known.category() == std::generic_category() ? known.value() : EIO;
}

HANDLE handle_of(int descriptor) noexcept {
  return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));  // NOLINT(performance-no-int-to-ptr): its type
}

// A handle that closes itself.
class Handle {
 public:
  Handle(const std::string& path, DWORD access, DWORD share, DWORD how, DWORD flags)
      : handle_(::CreateFileW(windows_path(path).c_str(), access, share, nullptr, how, flags, nullptr)) {
    if (!*this) set_errno();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (*this) ::CloseHandle(handle_);
  }
  explicit operator bool() const noexcept { return handle_ != INVALID_HANDLE_VALUE; }
  [[nodiscard]] HANDLE get() const noexcept { return handle_; }
  // As a descriptor of the C library, which closes it.
  int release() noexcept {
    if (!*this) return -1;
    const int descriptor = ::_open_osfhandle(reinterpret_cast<std::intptr_t>(handle_), _O_BINARY | _O_NOINHERIT);
    if (descriptor >= 0) handle_ = INVALID_HANDLE_VALUE;
    return descriptor;
  }

 private:
  HANDLE handle_;
};

std::uint64_t wide(DWORD high, DWORD low) noexcept { return (std::uint64_t{high} << 32U) | low; }

std::optional<BY_HANDLE_FILE_INFORMATION> information(HANDLE handle) noexcept {
  BY_HANDLE_FILE_INFORMATION found{};
  if (::GetFileInformationByHandle(handle, &found) != 0) return found;
  set_errno();
  return std::nullopt;
}

// A look at a name, which nobody who has the file open can refuse.
Handle looked_at(const std::string& path, File::Links links) {
  return {path, FILE_READ_ATTRIBUTES, kShared, OPEN_EXISTING,
          FILE_FLAG_BACKUP_SEMANTICS | (links == File::Links::refuse ? FILE_FLAG_OPEN_REPARSE_POINT : 0UL)};
}

bool set_to_be_removed(HANDLE handle, bool removed) noexcept {
  FILE_DISPOSITION_INFO disposition{};
  disposition.DeleteFile = removed ? TRUE : FALSE;
  return ::SetFileInformationByHandle(handle, FileDispositionInfo, &disposition, sizeof disposition) != 0;
}

bool done(BOOL succeeded) noexcept {
  if (succeeded == 0) set_errno();
  return succeeded != 0;
}

}  // namespace

int open(const std::string& path, Open how, File::Links links) noexcept {
  return Handle(path, GENERIC_READ | (how == Open::read_write ? GENERIC_WRITE : 0), kShared, OPEN_EXISTING,
                links == File::Links::refuse ? FILE_FLAG_OPEN_REPARSE_POINT : FILE_ATTRIBUTE_NORMAL)
      .release();
}

int create(const std::string& path) noexcept {
  Handle made(path, GENERIC_READ | GENERIC_WRITE | DELETE, kShared, CREATE_NEW, FILE_ATTRIBUTE_NORMAL);
  if (made) (void)set_to_be_removed(made.get(), true);  // where that cannot be, it stays like everywhere else
  return made.release();
}

bool keep(int descriptor) noexcept { return done(set_to_be_removed(handle_of(descriptor), false) ? TRUE : FALSE); }

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

bool is_regular(int descriptor) noexcept {
  const HANDLE handle = handle_of(descriptor);
  if (::GetFileType(handle) != FILE_TYPE_DISK) return false;
  const auto found = information(handle);
  return found && (found->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

// The C library's fstat has no inodes.
std::optional<FileStatus> status(int descriptor) noexcept {
  const auto found = information(handle_of(descriptor));
  if (!found) return std::nullopt;
  const std::uint64_t written = wide(found->ftLastWriteTime.dwHighDateTime, found->ftLastWriteTime.dwLowDateTime) * 100;
  return FileStatus{.identity = {found->dwVolumeSerialNumber, wide(found->nFileIndexHigh, found->nFileIndexLow)},
                    .size = wide(found->nFileSizeHigh, found->nFileSizeLow),
                    .links = found->nNumberOfLinks,
                    .mode = (found->dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444U : 0666U,
                    .modified = written,
                    .changed = written};
}

Kind kind(const std::string& path, File::Links links) noexcept {
  if (is_device_name(path)) return Kind::other;
  const Handle seen = looked_at(path, links);
  if (!seen && errno == ENOENT) return Kind::none;
  if (!seen) return Kind::other;
  if (::GetFileType(seen.get()) != FILE_TYPE_DISK) return Kind::other;
  const auto found = information(seen.get());
  if (!found) return Kind::other;
  if ((found->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && links == File::Links::refuse) return Kind::link;
  return (found->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? Kind::folder : Kind::file;
}

std::optional<FileIdentity> identity(const std::string& path, File::Links links) noexcept {
  const Handle seen = looked_at(path, links);
  const auto found = seen ? information(seen.get()) : std::nullopt;
  if (!found) return std::nullopt;
  return FileIdentity{found->dwVolumeSerialNumber, wide(found->nFileIndexHigh, found->nFileIndexLow)};
}

bool remove(const std::string& path) noexcept { return done(::DeleteFileW(windows_path(path).c_str())); }

bool rename(const std::string& from, const std::string& to, bool replace) noexcept {
  const DWORD flags = MOVEFILE_WRITE_THROUGH | (replace ? MOVEFILE_REPLACE_EXISTING : 0);
  // A virus scanner looks into a new file for an instant, after gigabytes were written
  for (int tries = 10;; --tries) {
    if (done(::MoveFileExW(windows_path(from).c_str(), windows_path(to).c_str(), flags))) return true;
    if ((errno != EACCES && errno != EBUSY) || tries == 0) break;
    ::Sleep(50);
  }
  if (errno == EACCES && replace && is_held(to)) errno = EBUSY;  // the system calls both "denied"
  return false;
}

bool add_name(const std::string& path, const std::string& name) noexcept {
  return done(::CreateHardLinkW(windows_path(name).c_str(), windows_path(path).c_str(), nullptr));
}

bool add_symbolic_link(const std::string& way, const std::string& link, bool to_folder) noexcept {
  std::string says = way;  // a link is read with backslashes only
  std::replace(says.begin(), says.end(), '/', '\\');
  constexpr DWORD kForEverybody = 2;  // SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE: in the developer mode
  const DWORD flags = kForEverybody | (to_folder ? SYMBOLIC_LINK_FLAG_DIRECTORY : 0);
  if (::CreateSymbolicLinkW(windows_path(link).c_str(), wide_text(says).c_str(), flags) != 0) {
    if (kind(link, File::Links::refuse) != Kind::none) return true;
    errno = EPERM;  // wine 8 says that it made one, and has made none
    return false;
  }
  if (::GetLastError() == ERROR_ALREADY_EXISTS || ::GetLastError() == ERROR_FILE_EXISTS) set_errno();
  else errno = EPERM;
  return false;
}

void take_permissions(const std::string& from, const std::string& to) noexcept {
  constexpr SECURITY_INFORMATION kWhoMay = DACL_SECURITY_INFORMATION;
  DWORD size = 0;
  (void)::GetFileSecurityW(windows_path(from).c_str(), kWhoMay, nullptr, 0, &size);
  std::vector<std::byte> descriptor(size);
  if (size == 0 || ::GetFileSecurityW(windows_path(from).c_str(), kWhoMay, descriptor.data(), size, &size) == 0) return;
  (void)::SetFileSecurityW(windows_path(to).c_str(), kWhoMay, descriptor.data());
}

void set_mode(const std::string& path, std::uint32_t mode) noexcept {
  const DWORD attributes = (mode & 0200U) != 0 ? FILE_ATTRIBUTE_NORMAL : FILE_ATTRIBUTE_READONLY;
  (void)::SetFileAttributesW(windows_path(path).c_str(), attributes);
}

// Of a byte that no file has: locks of Windows keep others from reading, and nobody reads that one.
bool lock(int descriptor, bool exclusive) noexcept {
  OVERLAPPED at{};
  at.OffsetHigh = 0x40000000;
  const DWORD flags = LOCKFILE_FAIL_IMMEDIATELY | (exclusive ? LOCKFILE_EXCLUSIVE_LOCK : 0);
  if (::LockFileEx(handle_of(descriptor), flags, 0, 1, 0, &at) != 0) return true;
  if (::GetLastError() != ERROR_LOCK_VIOLATION && ::GetLastError() != ERROR_IO_PENDING) return true;
  errno = EWOULDBLOCK;
  return false;
}

// The folder itself, open for adding files, and for one at a time: who only looks, or adds files by their names, is not
// in the way, and nothing lies in the folder that could be mistaken or planted.
std::uint32_t user() noexcept { return 0; }

int lock_folder(const std::string& folder) noexcept {
  Handle held(folder, FILE_ADD_FILE | FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_DELETE, OPEN_EXISTING,
              FILE_FLAG_BACKUP_SEMANTICS);
  if (!held && errno == EBUSY) errno = EWOULDBLOCK;
  return held.release();
}

bool is_held(const std::string& path) noexcept {
  return !Handle(path, DELETE, kShared, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL) && errno == EBUSY;
}

bool is_device_name(const std::string& path) {
  constexpr std::array<std::string_view, 6> kNames = {"con", "prn", "aux", "nul", "conin$", "conout$"};
  const std::string_view name = std::string_view(path).substr(path.find_last_of("/\\") + 1);
  std::string stem = lower_case(name.substr(0, name.find_first_of(".:")));
  stem.erase(stem.find_last_not_of(' ') + 1);
  if (std::find(kNames.begin(), kNames.end(), stem) != kNames.end()) return true;
  if (!stem.starts_with("com") && !stem.starts_with("lpt")) return false;
  const std::string_view number = std::string_view(stem).substr(3);
  return (number.size() == 1 && number[0] >= '1' && number[0] <= '9') || number == "¹" || number == "²" ||
         number == "³";
}

}  // namespace mrrope::base::calls
#endif

// SPDX-License-Identifier: MIT
//
// macOS and Windows. What Linux promises holds but for this: a process that is killed leaves its "<target>.XXXXXX.tmp"
// behind, folders are not synced, and files of another owner are refused where they would have to stay that owner's.
#include "files/file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <random>
#include <system_error>
#include <utility>

#include "files/elsewhere/calls.h"

namespace mrrope::base {

namespace fs = std::filesystem;

namespace {

Error too_far(const std::string& path) { return {ErrorCode::io, "offset beyond what a file can have", path}; }

bool representable(std::uint64_t offset, std::size_t length) noexcept {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return offset <= kMax && length <= kMax - offset;
}

Error exists(const std::string& target) {
  return {ErrorCode::invalid_argument, "exists already; it is replaced only if that is asked for", target};
}

Error failed_to(std::string_view doing, const std::string& path, const std::error_code& status) {
  return {ErrorCode::io, "cannot " + std::string(doing) + ": " + status.message(), path};
}

// A name beside `target` that is hard to guess.
std::string temporary_name(const std::string& target) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string name = target + ".";
  for (int i = 0; i < 6; ++i) name += kLetters[random() % kLetters.size()];
  return name + ".tmp";
}

constexpr fs::perms kPrivate = fs::perms::owner_read | fs::perms::owner_write;

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path, File::Links links) {
  std::error_code unseen;
  if (links == File::Links::refuse && fs::is_symlink(path, unseen)) return std::nullopt;
  const int descriptor = calls::open(path, false, false);
  if (descriptor < 0) return std::nullopt;
  const std::optional<FileStatus> status = calls::status(descriptor);
  calls::close(descriptor);
  return status ? std::optional(status->identity) : std::nullopt;
}

bool is_taken(const std::string& path) {
  std::error_code unseen;
  return fs::exists(fs::symlink_status(path, unseen));
}

// ---- File ----------------------------------------------------------------------------------------------------------

Result<File> File::open(const std::string& path, Access access, Links links) {
  std::error_code unseen;
  if (links == Links::refuse && fs::is_symlink(path, unseen)) {
    return Error{ErrorCode::io, "a symbolic link, not a regular file", path};
  }
  const int descriptor = calls::open(path, access == Access::read_write, false);
  if (descriptor < 0 && fs::exists(path, unseen) && !fs::is_regular_file(path, unseen)) {
    return Error{ErrorCode::io, "not a regular file", path};  // Windows opens no folders
  }
  if (descriptor < 0) return os_error("open", path, errno);
  File file(descriptor, path);
  if (!fs::is_regular_file(path, unseen)) return Error{ErrorCode::io, "not a regular file", path};
  return file;
}

File::~File() {
  if (descriptor_ >= 0) calls::close(descriptor_);
}

Result<std::uint64_t> File::size() const {
  const Result<FileStatus> found = status();
  if (!found) return found.error();
  return found->size;
}

Result<FileIdentity> File::identity() const {
  const Result<FileStatus> found = status();
  if (!found) return found.error();
  return found->identity;
}

Result<FileStatus> File::status() const {
  const std::optional<FileStatus> found = calls::status(descriptor_);
  if (!found) return os_error("examine", path_, errno);
  return *found;
}

// Nothing is shared by blocks here; that of most file systems of Linux, so that the same edit gives the same file.
Result<std::uint64_t> File::block_size() const { return 4096; }

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (!representable(offset, into.size())) return too_far(path_);
  std::size_t done = 0;
  while (done < into.size()) {
    const std::int64_t count = calls::read(descriptor_, offset + done, into.data() + done, into.size() - done);
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
    const std::int64_t count = calls::write(descriptor_, offset + done, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error("write", path_, errno);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> File::resize(std::uint64_t size) {
  if (!representable(size, 0)) return too_far(path_);
  if (!calls::resize(descriptor_, size)) return os_error("change the size", path_, errno);
  return {};
}

Result<void> File::sync() {
  if (!calls::sync(descriptor_)) return os_error("sync to disk", path_, errno);
  return {};
}

// ---- Names ---------------------------------------------------------------------------------------------------------

Result<void> sync_folder_of(const std::string&) { return {}; }

Result<void> remove_file(const std::string& path) {
  std::error_code failed;
  fs::remove(path, failed);
  if (failed) return failed_to("remove", path, failed);
  return {};
}

Result<void> check_free(const std::string& target, bool overwrite) {
  if (!overwrite && is_taken(target)) return exists(target);
  std::error_code unseen;
  const fs::file_status status = fs::status(target, unseen);
  if (overwrite && fs::exists(status) && !fs::is_regular_file(status)) {
    return Error{ErrorCode::io, "not a regular file", target};
  }
  return {};
}

// ---- PendingFile ---------------------------------------------------------------------------------------------------

Result<PendingFile> PendingFile::create(const std::string& target, bool overwrite) {
  if (const auto ok = check_free(target, overwrite); !ok) return ok.error();
  for (int tries = 10;; --tries) {
    std::string temporary = temporary_name(target);
    const int descriptor = calls::open(temporary, true, true);
    if (descriptor < 0 && errno == EEXIST && tries > 0) continue;
    if (descriptor < 0) return os_error("create a file", target, errno);
    PendingFile pending(File(descriptor, target), target, std::move(temporary), overwrite, 0);
    const Result<FileStatus> status = pending.file_.status();
    if (!status) return status.error();
    pending.mode_ = status->mode;
    std::error_code ignored;
    fs::permissions(pending.temporary_, kPrivate, ignored);
    return pending;
  }
}

PendingFile::~PendingFile() {
  if (temporary_.empty()) return;
  file_ = File(-1, target_);  // Windows removes no open files
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

Result<void> PendingFile::settle_mode() {
  const Result<FileStatus> own = file_.status();
  if (!own) return own.error();
  if (like_ && (like_->owner != own->owner || like_->group != own->group)) {
    if (strict_) return Error{ErrorCode::unsupported, "the owner of the file could not be kept", target_};
    mode_ &= ~std::uint32_t{0070};
  }
  std::error_code ignored;
  fs::permissions(temporary_, static_cast<fs::perms>(mode_), ignored);
  return {};
}

Result<void> PendingFile::commit() {
  if (const auto ok = settle_mode(); !ok) return ok.error();
  if (const auto ok = file_.sync(); !ok) return ok.error();
  file_ = File(-1, target_);  // Windows renames no open files
  std::error_code failed;
  if (overwrite_) {
    fs::rename(temporary_, target_, failed);
    if (failed) return failed_to("name the finished file", target_, failed);
    temporary_.clear();
    return {};
  }
  // A second name is refused where the name is taken, as a rename is not
  fs::create_hard_link(temporary_, target_, failed);
  if (failed && is_taken(target_)) return exists(target_);
  if (failed) return failed_to("name the finished file", target_, failed);
  fs::remove(std::exchange(temporary_, {}), failed);
  return {};
}

}  // namespace mrrope::base

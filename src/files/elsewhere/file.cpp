// SPDX-License-Identifier: MIT
//
// macOS and Windows. What Linux promises holds but for this: a process that is killed leaves its "<target>.XXXXXX.tmp"
// behind on macOS, and on Windows in the instant of its renaming; folders are not synced; files of another owner are
// refused where they would have to stay that owner's; on Windows a file that another program has open is not replaced,
// and one that is keeps who may read it, but not its alternate streams.
#include "files/file.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "files/elsewhere/calls.h"
#include "files/elsewhere/unique_name.h"

namespace mrrope::base {

namespace {

Error too_far(const std::string& path) { return {ErrorCode::io, "offset beyond what a file can have", path}; }

bool representable(std::uint64_t offset, std::size_t length) noexcept {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return offset <= kMax && length <= kMax - offset;
}

Error exists(const std::string& target) {
  return {ErrorCode::invalid_argument, "exists already; it is replaced only if that is asked for", target};
}

Error failed_to(std::string_view doing, const std::string& path) {
  if (errno != EBUSY) return os_error(doing, path, errno);
  return {ErrorCode::io, "another program has the file open, which must be ended first; nothing was changed", path};
}

// A name beside `target` that is hard to guess.
std::string temporary_name(const std::string& target) { return target + "." + unique_letters() + ".tmp"; }

constexpr std::uint32_t kPrivate = 0600;

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path, File::Links links) {
  return calls::identity(path, links);
}

bool is_taken(const std::string& path) { return calls::kind(path, File::Links::refuse) != calls::Kind::none; }

// ---- File ----------------------------------------------------------------------------------------------------------

Result<File> File::open(const std::string& path, Access access, Links links) {
  const calls::Kind kind = calls::kind(path, links);
  if (kind == calls::Kind::link) return Error{ErrorCode::io, "a symbolic link, not a regular file", path};
  if (kind == calls::Kind::folder) return Error{ErrorCode::io, "not a regular file", path};  // Windows opens none
  File file(calls::open(path, access == Access::read ? calls::Open::read : calls::Open::read_write, links), path);
  if (file.descriptor() < 0) return failed_to("open", path);
  if (!calls::is_regular(file.descriptor())) return Error{ErrorCode::io, "not a regular file", path};
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
  if (!calls::remove(path)) return failed_to("remove", path);
  return {};
}

Result<void> check_free(const std::string& target, bool overwrite) {
  if (calls::is_device_name(target)) {
    return Error{ErrorCode::invalid_argument, "Windows takes this name for a device; take another", target};
  }
  if (!overwrite && is_taken(target)) return exists(target);
  const calls::Kind kind = calls::kind(target, File::Links::follow);
  if (overwrite && kind != calls::Kind::none && kind != calls::Kind::file) {
    return Error{ErrorCode::io, "not a regular file", target};
  }
  return {};
}

// ---- PendingFile ---------------------------------------------------------------------------------------------------

Result<PendingFile> PendingFile::create(const std::string& target, bool overwrite) {
  if (const auto ok = check_free(target, overwrite); !ok) return ok.error();
  for (int tries = 10;; --tries) {
    std::string temporary = temporary_name(target);
    const int descriptor = calls::create(temporary);
    if (descriptor < 0 && errno == EEXIST && tries > 0) continue;
    if (descriptor < 0) return failed_to("create a file", target);
    PendingFile pending(File(descriptor, target), target, std::move(temporary), overwrite, 0);
    const Result<FileStatus> status = pending.file_.status();
    if (!status) return status.error();
    pending.mode_ = status->mode;
    calls::set_mode(pending.temporary_, kPrivate);
    return pending;
  }
}

PendingFile::~PendingFile() {
  if (temporary_.empty()) return;
  file_ = File(-1, target_);              // Windows removes no open files,
  calls::set_mode(temporary_, kPrivate);  // and none that may only be read
  (void)calls::remove(temporary_);
}

Result<void> PendingFile::settle_mode() {
  const Result<FileStatus> own = file_.status();
  if (!own) return own.error();
  if (like_ && (like_->owner != own->owner || like_->group != own->group)) {
    if (strict_) return Error{ErrorCode::unsupported, "the owner of the file could not be kept", target_};
    mode_ &= ~std::uint32_t{0070};
  }
  return {};
}

Result<void> PendingFile::commit() {
  if (const auto ok = settle_mode(); !ok) return ok.error();
  if (const auto ok = file_.sync(); !ok) return ok.error();
  if (!calls::keep(file_.descriptor())) return failed_to("keep the finished file", target_);
  file_ = File(-1, target_);  // Windows renames no open files
  calls::set_mode(temporary_, mode_);
  if (overwrite_) calls::take_permissions(target_, temporary_);
  if (!calls::rename(temporary_, target_, overwrite_)) {
    return errno == EEXIST ? exists(target_) : failed_to("name the finished file", target_);
  }
  temporary_.clear();
  return {};
}

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
//
// What is the same on every system; the rest is in linux/ and elsewhere/.
#include "files/file.h"

#include <system_error>
#include <utility>

namespace mrrope::base {

Error os_error(std::string_view doing, const std::string& path, int error_number) {
  std::string message = "cannot ";
  message += doing;
  message += ": ";
  message += std::generic_category().message(error_number);
  return {ErrorCode::io, std::move(message), path};
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

Result<void> File::read_all_at(std::uint64_t offset, std::span<std::byte> into) const {
  const Result<std::size_t> count = read_at(offset, into);
  if (!count) return count.error();
  if (*count == into.size()) return {};
  return Error{ErrorCode::io, "the file ended at byte " + std::to_string(offset + *count) + " while it was being read",
               path_};
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : file_(std::move(other.file_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      overwrite_(other.overwrite_),
      mode_(other.mode_),
      like_(other.like_),
      strict_(other.strict_) {}

void PendingFile::take_mode_and_owner(const FileStatus& like, bool strict) {
  mode_ = like.mode;
  like_ = like;
  strict_ = strict;
}

Result<std::string> read_file(const std::string& path, std::uint64_t most) {
  const Result<File> file = File::open(path, File::Access::read);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  if (*size > most) return Error{ErrorCode::malformed, "too large", path};
  std::string text(static_cast<std::size_t>(*size), '\0');
  if (const auto ok = file->read_all_at(0, bytes_of(text)); !ok) return ok.error();
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text, bool overwrite) {
  Result<PendingFile> pending = PendingFile::create(path, overwrite);
  if (!pending) return pending.error();
  if (const auto ok = pending->file().write_at(0, bytes_of(text)); !ok) return ok.error();
  return pending->commit();
}

}  // namespace mrrope::base

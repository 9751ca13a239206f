// SPDX-License-Identifier: MIT
//
// Files by descriptor: positioned reads and writes that are complete or an Error, and files that appear under their
// name only when they are complete. Nothing here maps memory: a file that shrinks under us is a short read, not a
// SIGBUS. linux/ has the promises below in full; elsewhere/, for macOS and Windows, says where it has less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mrrope/result.h"

namespace mrrope::base {

// "cannot <doing>: No space left on device", where = path.
Error os_error(std::string_view doing, const std::string& path, int error_number);

// The same file under any name: symbolic and hard links give equal identities.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Whether the name is taken: by anything, also by a link that leads nowhere.
bool is_taken(const std::string& path);

// What there is to know of a file besides its bytes. Equal at two times: nobody has written to it in between, as far as
// the clock of the file system tells.
struct FileStatus {
  FileIdentity identity;
  std::uint64_t size = 0;
  std::uint64_t links = 0;  // how many names it has
  std::uint32_t mode = 0;   // permissions only
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
  std::uint64_t modified = 0;  // nanoseconds: of the bytes
  std::uint64_t changed = 0;   // and of anything
  bool operator==(const FileStatus&) const = default;
};

// An open regular file. Movable; closes itself.
class File {
 public:
  enum class Access { read, read_write };
  enum class Links { follow, refuse };

  // Refuses folders, pipes and devices without waiting for them.
  static Result<File> open(const std::string& path, Access access, Links links = Links::follow);

  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  File(File&& other) noexcept : descriptor_(other.descriptor_), path_(std::move(other.path_)) {
    other.descriptor_ = -1;
  }
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] Result<std::uint64_t> size() const;
  [[nodiscard]] Result<FileIdentity> identity() const;
  [[nodiscard]] Result<FileStatus> status() const;
  // The file system's block: the unit of cloned, inserted and collapsed ranges.
  [[nodiscard]] Result<std::uint64_t> block_size() const;

  // Bytes read: less than asked only where the file ends.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const;
  // The same, but an end before the last byte is an Error.
  [[nodiscard]] Result<void> read_all_at(std::uint64_t offset, std::span<std::byte> into) const;
  [[nodiscard]] Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> resize(std::uint64_t size);
  [[nodiscard]] Result<void> sync();

 private:
  int descriptor_ = -1;
  std::string path_;
};

// Nothing if there is no such file, or no permission to see it. Links::refuse: of the symbolic link itself.
std::optional<FileIdentity> identity_of(const std::string& path, File::Links links = File::Links::follow);

// Makes names that were added to or removed from the folder of `path` permanent.
Result<void> sync_folder_of(const std::string& path);

// Removes the name and syncs its folder.
Result<void> remove_file(const std::string& path);

// An Error if the target exists and `overwrite` is false, or if it is no file that could be replaced.
Result<void> check_free(const std::string& target, bool overwrite);

// A file being written for `target`, invisible until commit(). Where the file system has O_TMPFILE it has no name at
// all, so that a killed process leaves nothing behind; elsewhere it is "<target>.XXXXXX.tmp", removed by the
// destructor.
class PendingFile {
 public:
  // Errors: the target exists and `overwrite` is false; the folder cannot be written.
  static Result<PendingFile> create(const std::string& target, bool overwrite);

  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  [[nodiscard]] File& file() noexcept { return file_; }
  [[nodiscard]] const std::string& target() const noexcept { return target_; }

  // Nobody else reads the file while it is written. Its permissions are set just before it gets its name: those that
  // the umask leaves, unless one of these asks for another file's.
  void take_mode(const FileStatus& like) noexcept { mode_ &= like.mode; }  // no more than `like` has, as cp does
  void make_executable() noexcept { mode_ |= (mode_ & 0444U) >> 2U; }      // for everybody who may read it
  // Exactly those of `like`, and its owner. Where they cannot be had, commit() is an Error if `strict`; otherwise the
  // file is the caller's, and what `like` lets its group do nobody may.
  void take_mode_and_owner(const FileStatus& like, bool strict);

  // Syncs the content, gives it its name in one step, syncs the folder. Without `overwrite` a target that has appeared
  // in the meantime is an Error, and it stays.
  [[nodiscard]] Result<void> commit();

 private:
  PendingFile(File file, std::string target, std::string temporary, bool overwrite, std::uint32_t mode)
      : file_(std::move(file)),
        target_(std::move(target)),
        temporary_(std::move(temporary)),
        overwrite_(overwrite),
        mode_(mode) {}
  Result<void> settle_mode();

  File file_;
  std::string target_;
  std::string temporary_;  // its present name; empty: none
  bool overwrite_ = false;
  std::uint32_t mode_ = 0;
  std::optional<FileStatus> like_;  // whose owner it gets
  bool strict_ = false;
};

// The whole of a file. Errors: larger than `most` bytes, and what File::open finds.
Result<std::string> read_file(const std::string& path, std::uint64_t most);

// A file with this content, complete and on the disk, or none: PendingFile for a text.
Result<void> write_file(const std::string& path, std::string_view text, bool overwrite);

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::span<std::byte> bytes_of(std::string& text) noexcept {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
//
// What a change in place needs to be undone: the bytes it will destroy, and how far it shifts the file. A journal is
// written beside the file, complete or not at all, before the file is touched, and removed when the change is on disk.
// It also has the bytes that the change writes: recovery overwrites nothing that is not one of these or those
// (gguf_state.h), so that no journal, whoever wrote it, can take a byte that it does not hold.
//
//   | "MRROPEJ2" | phase | checksum | head | saved: offset, length | written: offset, length | their bytes |
//   all numbers u64, little-endian
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/file.h"
#include "mrrope/result.h"

namespace mrrope::formats {

// How far the change may have come. While `planned`, the file is shifted or it is not, which its size tells, and no
// byte has been overwritten. From `shifted` on it is shifted, and any byte of the regions may have been overwritten.
enum class Phase : std::uint64_t { planned = 1, shifted = 2 };

struct JournalHead {
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  std::int64_t shift = 0;       // bytes inserted at the front; negative: taken out
  std::uint64_t kept_hash = 0;  // of the data that stays (gguf_state.h): which file this is

  bool operator==(const JournalHead&) const = default;
};

struct Region {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + length; }
};

// Bytes for a place in the new file.
struct Write {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

class Journal {
 public:
  // Saves the regions of `file` (of the old one, before any shift), and what will be written. Both in the order of
  // their offsets, and the first is the header. On disk when this returns.
  static Result<Journal> create(const std::string& path, const JournalHead& head, const std::vector<Region>& regions,
                                const std::vector<Write>& writes, const base::File& file);
  // Errors: no journal; damaged, or nothing that create() can have written; one whose owner has no say in a file of
  // this status. It is only read.
  static Result<Journal> open(const std::string& path, const base::FileStatus& model);

  [[nodiscard]] const JournalHead& head() const noexcept { return head_; }
  // Of the old file. At least one; they ascend, do not overlap and lie in the file, and the first is its header.
  [[nodiscard]] const std::vector<Region>& regions() const noexcept { return saved_.ranges; }
  [[nodiscard]] std::uint64_t shifted_size() const noexcept {
    return head_.old_size + static_cast<std::uint64_t>(head_.shift);
  }
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  // On disk when this returns. Eight bytes of one sector: written whole or not at all.
  [[nodiscard]] Result<void> set_phase(Phase phase);

  // Bytes of region `index`, from `offset` in it on.
  [[nodiscard]] Result<void> read(std::size_t index, std::uint64_t offset, std::span<std::byte> into) const;

  // The old file's bytes from `at` on, as far as they were saved, and the new file's as far as they are written. The
  // rest of `into` stays as it is.
  [[nodiscard]] Result<void> old_bytes(std::int64_t at, std::span<std::byte> into) const;
  [[nodiscard]] Result<void> new_bytes(std::int64_t at, std::span<std::byte> into) const;

  // Whether `file` has the bytes of region `index` from `first` on, `displacement` from where they were.
  [[nodiscard]] Result<bool> matches(const base::File& file, std::size_t index, std::uint64_t first,
                                     std::int64_t displacement) const;

 private:
  struct Stored {
    std::vector<Region> ranges;
    std::vector<std::uint64_t> places;  // of their bytes in the journal
  };
  Journal(base::File file, Phase phase, const JournalHead& head, std::vector<Region> saved,
          std::vector<Region> written);
  [[nodiscard]] Result<void> fill(const Stored& from, std::int64_t at, std::span<std::byte> into) const;

  base::File file_;
  Phase phase_;
  JournalHead head_;
  Stored saved_;
  Stored written_;
};

}  // namespace mrrope::formats

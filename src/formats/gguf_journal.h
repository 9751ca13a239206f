// SPDX-License-Identifier: MIT
//
// What a change in place needs to be undone: the bytes it will destroy, and how far it shifts the file. A journal is
// written beside the file, complete or not at all, before the file is touched, and removed when the change is on disk.
//
//   | "MRROPEJ1" | phase | checksum | head | regions: offset, length | their bytes |        all numbers u64,
//   little-endian
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "mrrope/result.h"

namespace mrrope::formats {

// How far the change may have come. While `planned`, the file is shifted or it is not, which its size tells, and no
// byte has been overwritten. From `shifted` on it is shifted, and any byte of the regions may have been overwritten.
enum class Phase : std::uint64_t { planned = 1, shifted = 2 };

struct JournalHead {
  std::uint64_t inode = 0;
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  std::int64_t shift = 0;  // bytes inserted at the front; negative: taken out

  bool operator==(const JournalHead&) const = default;
};

// Of the old file, before any shift.
struct Region {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class Journal {
 public:
  // Saves the regions of `file`. On disk when this returns.
  static Result<Journal> create(const std::string& path, const JournalHead& head, std::vector<Region> regions,
                                const base::File& file);
  // Errors: damaged, or no journal.
  static Result<Journal> open(const std::string& path);

  [[nodiscard]] const JournalHead& head() const noexcept { return head_; }
  [[nodiscard]] const std::vector<Region>& regions() const noexcept { return regions_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  // On disk when this returns. Eight bytes of one sector: written whole or not at all.
  [[nodiscard]] std::optional<Error> set_phase(Phase phase);

  // Bytes of region `index`, from `offset` in it on.
  [[nodiscard]] std::optional<Error> read(std::size_t index, std::uint64_t offset, std::span<std::byte> into) const;

  // Whether `file` has the bytes of region `index` from `first` on, `displacement` from where they were.
  [[nodiscard]] Result<bool> matches(const base::File& file, std::size_t index, std::uint64_t first,
                                     std::int64_t displacement) const;

 private:
  Journal(base::File file, Phase phase, const JournalHead& head, std::vector<Region> regions);

  base::File file_;
  Phase phase_;
  JournalHead head_;
  std::vector<Region> regions_;
  std::vector<std::uint64_t> places_;  // of the regions' bytes in the journal
};

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// What a change in place does to the disk, one function per effect, each of which can be the last before a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "files/file.h"
#include "formats/gguf_in_place.h"
#include "formats/gguf_journal.h"
#include "mrrope/result.h"

namespace mrrope::formats {

class Effects {
 public:
  Effects(base::File& file, const Steps& steps) : file_(file), steps_(steps) {}

  // Asks whether to go on; every effect below begins with it.
  [[nodiscard]] Result<void> step();
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  // Inserts `bytes` at the front, or takes them out if negative; on disk afterwards.
  // Errors: unsupported, where the file system cannot.
  Result<void> shift(std::int64_t bytes);
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> resize(std::uint64_t size);
  Result<void> sync();
  // Puts all regions back, in a file that is shifted by `shift`; what the shift took out has no place there. On disk
  // afterwards.
  Result<void> restore(const Journal& journal, std::int64_t shift);
  Result<void> set_phase(Journal& journal, Phase phase);
  Result<void> remove(const Journal& journal);

 private:
  Result<void> restore_region(const Journal& journal, std::size_t index, std::int64_t shift);

  base::File& file_;
  const Steps& steps_;
  bool stopped_ = false;
};

}  // namespace mrrope::formats

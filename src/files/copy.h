// SPDX-License-Identifier: MIT
//
// Moves ranges between files without holding them in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "files/file.h"
#include "mrrope/result.h"

namespace mrrope::base {

// Counts bytes over several ranges and asks the caller now and then whether to go on.
class Progress {
 public:
  using Callback = std::function<bool(std::uint64_t done, std::uint64_t total)>;
  Progress(Callback callback, std::uint64_t total) : callback_(std::move(callback)), total_(total) {}

  // False: stop.
  [[nodiscard]] bool advance(std::uint64_t bytes) {
    done_ += bytes;
    return !callback_ || callback_(done_, total_);
  }

 private:
  Callback callback_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

// Clones (FICLONERANGE) what lies on whole blocks, if both offsets are equally far from one and the file system can;
// lets the kernel copy the rest (copy_file_range); reads and writes where it cannot.
// Errors: the source ends early; the caller stopped it; no space.
Result<void> copy_range(const File& from, std::uint64_t from_offset, std::uint64_t length, File& to,
                        std::uint64_t to_offset, Progress& progress);

}  // namespace mrrope::base

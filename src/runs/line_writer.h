// SPDX-License-Identifier: MIT
//
// Lines for a new file, a megabyte at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/file.h"

namespace mrrope::eval {

class LineWriter {
 public:
  explicit LineWriter(base::File& file) : file_(file) {}

  [[nodiscard]] Result<void> line(std::string_view text) {
    buffer_.append(text).append(1, '\n');
    return buffer_.size() >= kBuffer ? flush() : Result<void>();
  }

  // Nothing is complete before it.
  [[nodiscard]] Result<void> flush() {
    if (const auto ok = file_.write_at(written_, base::bytes_of(std::string_view(buffer_))); !ok) return ok.error();
    written_ += buffer_.size();
    buffer_.clear();
    return {};
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 20;
  base::File& file_;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

}  // namespace mrrope::eval

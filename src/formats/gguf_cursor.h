// SPDX-License-Identifier: MIT
//
// Reads forward through the header of a file, a window at a time. Every length is compared with what the file has and
// with the largest header we accept before any memory is taken for it, so that memory is bounded by bytes that exist.
// Errors are thrown as base::Rejected and name the part of the header and the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "mrrope/result.h"

namespace mrrope::formats {

// Fills `into` from the offset on and says how much it got; less only at the end.
using ByteSource = std::function<Result<std::size_t>(std::uint64_t offset, std::span<std::byte> into)>;

class Cursor {
 public:
  // `budget`: largest header, in bytes.
  Cursor(ByteSource source, std::uint64_t file_size, std::uint64_t budget);

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  void seek(std::uint64_t position) noexcept { position_ = position; }
  // Bytes from here to the end of the file or of the budget, whichever comes first.
  [[nodiscard]] std::uint64_t left() const noexcept;

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, window(sizeof(T)), sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  void skip(std::uint64_t length);
  std::string take(std::uint64_t length);
  // A u64 length, at most `limit`, and that many bytes.
  std::string text(std::uint64_t limit);

  // What is being read, for messages: "kv 17", then its name once that is known.
  void begin(const char* part) noexcept;
  void begin(const char* part, std::uint64_t index) noexcept;
  void name(std::string_view name) { name_ = name; }

  // Throws unless `length` more bytes are there and fit the budget.
  void require(std::uint64_t length) const;
  [[noreturn]] void reject(ErrorCode code, std::string message) const;

 private:
  // `length` bytes at the present position, in memory. Domain: length <= 8.
  const std::byte* window(std::size_t length);

  ByteSource source_;
  std::uint64_t file_size_;
  std::uint64_t budget_;
  std::uint64_t position_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_start_ = 0;
  std::size_t window_size_ = 0;
  const char* part_ = "";
  std::uint64_t index_ = 0;
  bool counted_ = false;
  std::string name_;
};

}  // namespace mrrope::formats

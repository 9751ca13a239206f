// SPDX-License-Identifier: MIT
#include "formats/gguf_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/gguf_bytes.h"

namespace mrrope::formats {

namespace {
// The window doubles with every read: a header of a few kB takes one small read, a vocabulary of 10 MB about 45.
constexpr std::size_t kFirstWindow = std::size_t{16} << 10;
constexpr std::size_t kLargestWindow = std::size_t{256} << 10;
}  // namespace

Cursor::Cursor(ByteSource source, std::uint64_t file_size, std::uint64_t budget)
    : source_(std::move(source)), file_size_(file_size), budget_(budget) {}

std::uint64_t Cursor::left() const noexcept {
  const std::uint64_t end = std::min(file_size_, budget_);
  return position_ < end ? end - position_ : 0;
}

void Cursor::require(std::uint64_t length) const {
  if (length <= left()) return;
  if (length > file_size_ - std::min(position_, file_size_)) {
    reject(ErrorCode::malformed,
           fmt::format("expected {} more bytes, but the file ends at byte {}", length, file_size_));
  }
  reject(ErrorCode::unsupported, fmt::format("the header is larger than {} MiB", budget_ >> 20));
}

const std::byte* Cursor::window(std::size_t length) {
  require(length);
  const bool inside = position_ >= window_start_ && position_ + length <= window_start_ + window_size_;
  if (!inside) {
    if (window_.size() < kLargestWindow) window_.resize(std::max(kFirstWindow, 2 * window_.size()));
    const Result<std::size_t> count = source_(position_, window_);
    if (!count) throw base::Rejected{count.error()};
    window_start_ = position_;
    window_size_ = *count;
    if (window_size_ < length) reject(ErrorCode::malformed, "the file ended here while it was being read");
  }
  return window_.data() + (position_ - window_start_);
}

void Cursor::skip(std::uint64_t length) {
  require(length);
  position_ += length;
}

std::string Cursor::take(std::uint64_t length) {
  require(length);
  if (length == 0) return {};
  std::string bytes(static_cast<std::size_t>(length), '\0');
  const bool inside = position_ >= window_start_ && position_ + length <= window_start_ + window_size_;
  if (inside) {
    std::memcpy(bytes.data(), window_.data() + (position_ - window_start_), bytes.size());
  } else {
    const Result<std::size_t> count = source_(position_, std::as_writable_bytes(std::span(bytes)));
    if (!count) throw base::Rejected{count.error()};
    if (*count < bytes.size()) reject(ErrorCode::malformed, "the file ended here while it was being read");
  }
  position_ += length;
  return bytes;
}

std::string Cursor::text(std::uint64_t limit) {
  const auto length = number<std::uint64_t>();
  if (length > limit) {
    reject(ErrorCode::malformed,
           fmt::format("expected a name of at most {} bytes, found a length of {}", limit, length));
  }
  return take(length);
}

void Cursor::begin(const char* part) noexcept {
  part_ = part;
  counted_ = false;
  name_.clear();
}

void Cursor::begin(const char* part, std::uint64_t index) noexcept {
  begin(part);
  counted_ = true;
  index_ = index;
}

void Cursor::reject(ErrorCode code, std::string message) const {
  std::string where = part_;
  if (counted_) where += fmt::format(" {}", index_);
  if (!name_.empty()) where += " (" + printable(name_) + ")";
  where += fmt::format(", byte {}", position_);
  throw base::Rejected{{code, std::move(message), std::move(where)}};
}

}  // namespace mrrope::formats

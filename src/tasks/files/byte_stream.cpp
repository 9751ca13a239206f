// SPDX-License-Identifier: MIT
#include "tasks/files/byte_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace mrrope::eval::task_files {

namespace {

constexpr std::size_t kInput = std::size_t{256} << 10;
constexpr std::size_t kMaxPart = std::size_t{1} << 30;  // zlib counts in unsigned int

bool is_gzip(std::span<const std::byte> first) {
  return first.size() >= 2 && first[0] == std::byte{0x1F} && first[1] == std::byte{0x8B};
}

}  // namespace

// zlib keeps a pointer to its z_stream: this does not move.
struct ByteStream::Unpacker {
  Unpacker() : ready(::inflateInit2(&stream, 15 + 16) == Z_OK), input(kInput) {}  // + 16: gzip and nothing else
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() { ::inflateEnd(&stream); }

  z_stream stream{};
  bool ready;
  bool between = false;  // a member has ended; there may be another
  std::vector<std::byte> input;
};

ByteStream::ByteStream(base::File file, std::uint64_t most) : file_(std::move(file)), left_(most) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

Result<ByteStream> ByteStream::open(const std::string& path, std::uint64_t most) {
  Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  std::array<std::byte, 2> first{};
  const Result<std::size_t> count = file->read_at(0, first);
  if (!count) return count.error();
  ByteStream stream(*std::move(file), most);
  if (is_gzip(std::span(first).first(*count))) {
    stream.unpacker_ = std::make_unique<Unpacker>();
    if (!stream.unpacker_->ready) return Error{ErrorCode::io, "zlib cannot be started", path};
  }
  return stream;
}

Result<std::size_t> ByteStream::read(std::span<char> into) {
  // One byte more than allowed is asked for, so that a file of exactly `most` bytes is not mistaken for a longer one.
  into = into.first(
      std::min({into.size(), kMaxPart, static_cast<std::size_t>(std::min<std::uint64_t>(left_, kMaxPart)) + 1}));
  Result<std::size_t> count = unpacker_ ? read_packed(into) : read_unpacked(into);
  if (!count) return count.error();
  if (*count > left_) return Error{ErrorCode::malformed, "the file is too large when unpacked", path()};
  left_ -= *count;
  return count;
}

Result<std::size_t> ByteStream::read_unpacked(std::span<char> into) {
  Result<std::size_t> count = file_.read_at(offset_, std::as_writable_bytes(into));
  if (count) offset_ += *count;
  return count;
}

Result<std::size_t> ByteStream::read_packed(std::span<char> into) {
  z_stream& stream = unpacker_->stream;
  const auto damaged = [&](std::string_view how) {
    return Error{ErrorCode::malformed, fmt::format("the gzip data {}", how), path()};
  };
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(into.size());
  while (stream.avail_out > 0) {
    if (stream.avail_in == 0) {
      Result<std::size_t> count = file_.read_at(offset_, unpacker_->input);
      if (!count) return count.error();
      offset_ += *count;
      stream.next_in = reinterpret_cast<Bytef*>(unpacker_->input.data());
      stream.avail_in = static_cast<uInt>(*count);
      if (*count == 0) {
        if (!unpacker_->between) return damaged("ends too early");
        break;
      }
    }
    if (std::exchange(unpacker_->between, false)) ::inflateReset(&stream);
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      unpacker_->between = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return damaged("is damaged, or something else follows it");
    }
  }
  return into.size() - stream.avail_out;
}

}  // namespace mrrope::eval::task_files

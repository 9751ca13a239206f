// SPDX-License-Identifier: MIT
//
// A file from front to back, unpacked on the way if it is gzip; by its first bytes, not by its name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "files/file.h"
#include "mrrope/result.h"

namespace mrrope::eval::task_files {

class ByteStream {
 public:
  // `most`: of unpacked bytes. gzip unpacks to a thousand times its size, so that a small file may be meant to fill a
  // disk or a memory.
  static Result<ByteStream> open(const std::string& path, std::uint64_t most);

  // Bytes put at the front of `into`: less than its size only at the end. Errors: what File::read_at finds; gzip that
  // is damaged, cut, or followed by something else; a byte beyond `most`.
  Result<std::size_t> read(std::span<char> into);

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

 private:
  struct Unpacker;
  ByteStream(base::File file, std::uint64_t most);
  Result<std::size_t> read_packed(std::span<char> into);
  Result<std::size_t> read_unpacked(std::span<char> into);

  base::File file_;
  std::uint64_t offset_ = 0;  // of the next byte to read from the file
  std::uint64_t left_;        // of `most`
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace mrrope::eval::task_files

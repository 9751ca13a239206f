// SPDX-License-Identifier: MIT
#include "formats/gguf_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "formats/gguf_types.h"

namespace mrrope::formats {

namespace {

// ggml counts elements and bytes in int64_t.
constexpr auto kMaxCount = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

void check_offset(const GgufTensor& tensor, std::uint64_t expected, std::uint64_t alignment, const Cursor& cursor) {
  if (tensor.offset == expected) return;
  const char* problem = tensor.offset % alignment != 0 ? "is not aligned"
                        : tensor.offset < expected     ? "overlaps the tensor before it"
                                                       : "leaves a gap after the tensor before it";
  cursor.reject(ErrorCode::inconsistent,
                fmt::format("offset {} {}; expected {} (alignment {})", tensor.offset, problem, expected, alignment));
}

}  // namespace

std::uint64_t unpadded_header_size(const GgufFile& file) noexcept {
  std::uint64_t size = 4 + 4 + 8 + 8;  // magic, version, two counts
  for (const GgufEntry& entry : file.entries) size += 8 + entry.key.size() + 4 + entry.value.bytes().size();
  for (const GgufTensor& tensor : file.tensors) size += 8 + tensor.name.size() + 4 + 8 * tensor.shape.size() + 4 + 8;
  return size;
}

std::uint64_t size_of(const GgufTensor& tensor, const Cursor& cursor) {
  const TensorType& type = *tensor_type(tensor.type);
  const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape[0];
  if (row % type.elements != 0) {
    cursor.reject(ErrorCode::inconsistent,
                  fmt::format("rows of {} elements, but {} is stored in blocks of {}", row, type.name, type.elements));
  }
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0U) != tensor.shape.end();
  std::uint64_t elements = empty ? 0 : 1;
  bool overflow = false;
  for (const std::uint64_t extent : tensor.shape) {
    overflow |= extent > kMaxCount || (extent != 0 && elements > kMaxCount / extent);
    elements = overflow ? 0 : elements * extent;
  }
  overflow |= elements / type.elements > kMaxCount / type.bytes;
  if (overflow) cursor.reject(ErrorCode::malformed, "the shape has more elements or bytes than 2^63");
  return elements / type.elements * type.bytes;
}

void settle_tensors(GgufFile& file, Cursor& cursor) {
  const std::uint64_t available = data_size(file);
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    GgufTensor& tensor = file.tensors[i];
    cursor.begin("tensor", i);
    cursor.name(tensor.name);
    check_offset(tensor, expected, file.alignment, cursor);
    if (tensor_type(tensor.type) == nullptr) {
      const bool last = i + 1 == file.tensors.size();
      const std::uint64_t end = last ? available : file.tensors[i + 1].offset;
      if (end < tensor.offset) {
        cursor.reject(ErrorCode::inconsistent,
                      fmt::format("offset {} is beyond the next tensor or the end of the file", tensor.offset));
      }
      tensor.bytes = end - tensor.offset;
    }
    if (tensor.offset > available || tensor.bytes > available - tensor.offset) {
      cursor.reject(ErrorCode::inconsistent,
                    fmt::format("{} bytes at data offset {} reach past the end of the file ({} bytes of data): it is "
                                "incomplete or damaged",
                                tensor.bytes, tensor.offset, available));
    }
    // No overflow: both are at most the size of the file.
    expected = padded(tensor.offset + tensor.bytes, file.alignment);
  }
}

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// Where things stand in a file: the one place that knows about alignment.
//
//   | header | zeros | tensor 0 | zeros | tensor 1 | zeros | … | tail |
//   0        |       data_offset                             file_size
//            unpadded_header_size()
//
// llama.cpp wants every tensor at exactly the next aligned offset, in the order of the list (gguf.cpp:781-800): no
// gaps, no sharing, and new tensors last.
#pragma once

#include <cstdint>

#include "formats/gguf_cursor.h"
#include "mrrope/gguf.h"

namespace mrrope::formats {

inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr std::string_view kArchitectureKey = "general.architecture";
inline constexpr std::uint64_t kDefaultAlignment = 32;
inline constexpr std::uint64_t kMaxAlignment = std::uint64_t{64} << 20;

// Bounds of what a header may list: far above any model (DeepSeek with separate experts: 46 000 tensors), and low
// enough that the lists fit in memory (docs of kMaxGgufHeader).
inline constexpr std::uint64_t kMaxTensors = std::uint64_t{1} << 18;
inline constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kMaxName = 65535;  // of a key or tensor read; GGUF's limit for keys
inline constexpr std::uint64_t kMaxDimensions = 4;

// Domain: alignment is a power of two, value <= 2^63.
constexpr std::uint64_t padded(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

std::uint64_t unpadded_header_size(const GgufFile& file) noexcept;

// End of the last tensor, from the start of the data section, without padding; 0 without tensors.
inline std::uint64_t data_end(const GgufFile& file) noexcept {
  return file.tensors.empty() ? 0 : file.tensors.back().offset + file.tensors.back().bytes;
}

// Bytes from data_offset to the end of the file.
inline std::uint64_t data_size(const GgufFile& file) noexcept { return file.file_size - file.data_offset; }

// The size that shape and type give. Rejects what overflows, and rows that are no whole number of blocks.
// Domain: tensor_type(tensor.type) != nullptr.
std::uint64_t size_of(const GgufTensor& tensor, const Cursor& cursor);

// Checks the offsets against each other and the end of the file, and finds the sizes of tensors of unknown type, which
// reach to the next one. Needs data_offset and file_size.
void settle_tensors(GgufFile& file, Cursor& cursor);

}  // namespace mrrope::formats

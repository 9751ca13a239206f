// SPDX-License-Identifier: MIT
//
// The encoding of numbers and strings in GGUF: little-endian, strings as a u64 length and the bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"
#include "mrrope/gguf.h"

namespace mrrope::formats {

static_assert(std::endian::native == std::endian::little, "GGUF is read and written in the byte order of the file");

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];  // NOLINT(modernize-avoid-c-arrays): std::array adds nothing to memcpy
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

inline void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out += text;
}

// Domain: offset + sizeof(T) <= bytes.size().
template <class T>
T get(std::string_view bytes, std::size_t offset = 0) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Bytes of one scalar; 0 for strings, arrays and what is no type.
constexpr std::size_t scalar_size(GgufType type) noexcept {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean: return 1;
    case GgufType::u16:
    case GgufType::i16: return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32: return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64: return 8;
    case GgufType::string:
    case GgufType::array: return 0;
  }
  return 0;
}

// Calls f with a value of the C++ type of a scalar at `offset`. Domain: scalar_size(type) > 0 and it fits.
template <class F>
auto with_scalar(GgufType type, std::string_view bytes, std::size_t offset, F&& f) {
  switch (type) {
    case GgufType::i8: return f(get<std::int8_t>(bytes, offset));
    case GgufType::u16: return f(get<std::uint16_t>(bytes, offset));
    case GgufType::i16: return f(get<std::int16_t>(bytes, offset));
    case GgufType::u32: return f(get<std::uint32_t>(bytes, offset));
    case GgufType::i32: return f(get<std::int32_t>(bytes, offset));
    case GgufType::f32: return f(get<float>(bytes, offset));
    case GgufType::u64: return f(get<std::uint64_t>(bytes, offset));
    case GgufType::i64: return f(get<std::int64_t>(bytes, offset));
    case GgufType::f64: return f(get<double>(bytes, offset));
    case GgufType::boolean: return f(get<std::uint8_t>(bytes, offset) != 0);
    default: return f(get<std::uint8_t>(bytes, offset));
  }
}

using base::printable;  // for names and texts of files

}  // namespace mrrope::formats

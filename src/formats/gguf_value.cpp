// SPDX-License-Identifier: MIT
//
// Reading and making single values. A GgufValue may have been put together by hand, so every accessor checks that the
// bytes are there.
#include <fmt/format.h>

#include <array>
#include <concepts>
#include <type_traits>

#include "formats/gguf_bytes.h"
#include "mrrope/gguf.h"

namespace mrrope {

namespace {

using formats::get;
using formats::put;
using formats::put_text;
using formats::scalar_size;
using formats::with_scalar;

constexpr std::size_t kArrayHead = 12;         // element type and count
constexpr std::size_t kMaxNumbers = 1U << 22;  // 32 MiB as doubles; the longest arrays of numbers are vocabularies
constexpr std::size_t kMaxListed = 8;          // elements that display() spells out
constexpr std::array kTypeNames = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                   "bool", "string", "array", "u64", "i64", "f64"};

template <class T>
GgufValue scalar(GgufType type, T value) {
  std::string bytes;
  put(bytes, value);
  return {type, std::move(bytes)};
}

struct ArrayHead {
  GgufType type = GgufType::u8;
  std::uint64_t count = 0;
};

std::optional<ArrayHead> array_head(const GgufValue& value) noexcept {
  if (value.type() != GgufType::array || value.bytes().size() < kArrayHead) return std::nullopt;
  return ArrayHead{static_cast<GgufType>(get<std::uint32_t>(value.bytes())), get<std::uint64_t>(value.bytes(), 4)};
}

// The head of an array of scalars all of whose elements are there.
std::optional<ArrayHead> scalar_array(const GgufValue& value) noexcept {
  const std::optional<ArrayHead> head = array_head(value);
  if (!head) return std::nullopt;
  const std::size_t size = scalar_size(head->type);
  if (size == 0 || head->count > (value.bytes().size() - kArrayHead) / size) return std::nullopt;
  return head;
}

std::string scalar_text(GgufType type, std::string_view bytes, std::size_t offset) {
  return with_scalar(type, bytes, offset, [](auto number) { return fmt::format("{}", number); });
}

}  // namespace

const char* to_string(GgufType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypeNames.size() ? kTypeNames[index] : "unknown";
}

GgufValue GgufValue::u32(std::uint32_t value) { return scalar(GgufType::u32, value); }
GgufValue GgufValue::u64(std::uint64_t value) { return scalar(GgufType::u64, value); }
GgufValue GgufValue::f32(float value) { return scalar(GgufType::f32, value); }
GgufValue GgufValue::boolean(bool value) { return scalar(GgufType::boolean, static_cast<std::uint8_t>(value ? 1 : 0)); }

GgufValue GgufValue::text(std::string_view value) {
  std::string bytes;
  put_text(bytes, value);
  return {GgufType::string, std::move(bytes)};
}

GgufValue GgufValue::i32_array(std::span<const std::int32_t> values) {
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(GgufType::i32));
  put(bytes, static_cast<std::uint64_t>(values.size()));
  for (const std::int32_t value : values) put(bytes, value);
  return {GgufType::array, std::move(bytes)};
}

std::optional<double> GgufValue::number() const noexcept {
  const std::size_t size = scalar_size(type_);
  if (size == 0 || bytes_.size() < size) return std::nullopt;
  return with_scalar(type_, bytes_, 0, [](auto number) { return static_cast<double>(number); });
}

std::optional<std::uint64_t> GgufValue::count() const noexcept {
  const std::size_t size = scalar_size(type_);
  if (size == 0 || bytes_.size() < size) return std::nullopt;
  return with_scalar(type_, bytes_, 0, [](auto number) -> std::optional<std::uint64_t> {
    using Number = decltype(number);
    if constexpr (std::is_same_v<Number, bool> || std::is_floating_point_v<Number>) return std::nullopt;
    if constexpr (std::is_signed_v<Number>) {
      if (number < 0) return std::nullopt;
    }
    return static_cast<std::uint64_t>(number);
  });
}

std::optional<std::string_view> GgufValue::text() const noexcept {
  if (type_ != GgufType::string || bytes_.size() < 8) return std::nullopt;
  if (get<std::uint64_t>(bytes_) != bytes_.size() - 8) return std::nullopt;
  return std::string_view(bytes_).substr(8);
}

std::optional<std::vector<double>> GgufValue::numbers() const {
  const std::optional<ArrayHead> head = scalar_array(*this);
  if (!head || head->count > kMaxNumbers) return std::nullopt;
  std::vector<double> values(head->count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = with_scalar(head->type, bytes_, kArrayHead + i * scalar_size(head->type),
                            [](auto number) { return static_cast<double>(number); });
  }
  return values;
}

std::uint64_t GgufValue::size() const noexcept {
  if (type_ != GgufType::array) return 1;
  const std::optional<ArrayHead> head = array_head(*this);
  return head ? head->count : 0;
}

std::string GgufValue::display() const {
  if (const auto string = text()) return '"' + formats::printable(*string) + '"';
  if (const std::size_t size = scalar_size(type_); size > 0 && bytes_.size() >= size)
    return scalar_text(type_, bytes_, 0);
  const std::optional<ArrayHead> head = array_head(*this);
  if (!head) return fmt::format("<{}>", to_string(type_));
  if (!scalar_array(*this) || head->count > kMaxListed) {
    return fmt::format("[{} {}{}]", head->count, to_string(head->type), head->type == GgufType::string ? "s" : "");
  }
  std::string list = "[";
  for (std::size_t i = 0; i < head->count; ++i) {
    if (i > 0) list += ", ";
    list += scalar_text(head->type, bytes_, kArrayHead + i * scalar_size(head->type));
  }
  return list + "]";
}

}  // namespace mrrope

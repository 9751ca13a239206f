// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using test::raw;
using test::raw_text;

GgufValue array(GgufType element, std::uint64_t count, const std::string& bytes) {
  return {GgufType::array, raw(static_cast<std::uint32_t>(element)) + raw(count) + bytes};
}

TEST(GgufValue, EveryScalarTypeIsANumber) {
  EXPECT_EQ(GgufValue(GgufType::u8, raw(std::uint8_t{200})).number(), 200);
  EXPECT_EQ(GgufValue(GgufType::i8, raw(std::int8_t{-3})).number(), -3);
  EXPECT_EQ(GgufValue(GgufType::u16, raw(std::uint16_t{60000})).number(), 60000);
  EXPECT_EQ(GgufValue(GgufType::i16, raw(std::int16_t{-300})).number(), -300);
  EXPECT_EQ(GgufValue::u32(4000000000U).number(), 4e9);
  EXPECT_EQ(GgufValue(GgufType::i32, raw(std::int32_t{-70000})).number(), -70000);
  EXPECT_EQ(GgufValue::f32(0.5F).number(), 0.5);
  EXPECT_EQ(GgufValue::boolean(true).number(), 1);
  EXPECT_EQ(GgufValue::u64(std::uint64_t{1} << 40).number(), std::exp2(40));
  EXPECT_EQ(GgufValue(GgufType::i64, raw(std::int64_t{-1} << 40)).number(), -std::exp2(40));
  EXPECT_EQ(GgufValue(GgufType::f64, raw(1e300)).number(), 1e300);
  EXPECT_EQ(GgufValue::text("8192").number(), std::nullopt);
  EXPECT_EQ(array(GgufType::u8, 1, "x").number(), std::nullopt);
}

TEST(GgufValue, OnlyWholeNumbersThatAreNotNegativeAreCounts) {
  EXPECT_EQ(GgufValue::u32(7).count(), 7U);
  EXPECT_EQ(GgufValue::u64(std::numeric_limits<std::uint64_t>::max()).count(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(GgufValue(GgufType::i32, raw(std::int32_t{7})).count(), 7U);
  EXPECT_EQ(GgufValue(GgufType::i64, raw(std::int64_t{-7})).count(), std::nullopt);
  EXPECT_EQ(GgufValue::f32(7).count(), std::nullopt);
  EXPECT_EQ(GgufValue::boolean(true).count(), std::nullopt);
  EXPECT_EQ(GgufValue::text("7").count(), std::nullopt);
}

TEST(GgufValue, TextIsKeptToTheByte) {
  const std::string text("a\0b\xff", 4);
  EXPECT_EQ(GgufValue::text(text).text(), text);
  EXPECT_EQ(GgufValue::text("").text(), "");
  EXPECT_EQ(GgufValue::u32(1).text(), std::nullopt);
}

TEST(GgufValue, ArraysOfNumbersAreNumbers) {
  const std::array<std::int32_t, 3> values = {1, -2, 3};
  EXPECT_EQ(GgufValue::i32_array(values).numbers(), (std::vector<double>{1, -2, 3}));
  EXPECT_EQ(GgufValue::i32_array(values).size(), 3U);
  EXPECT_EQ(array(GgufType::boolean, 2, std::string("\1\0", 2)).numbers(), (std::vector<double>{1, 0}));
  EXPECT_EQ(array(GgufType::f64, 1, raw(2.5)).numbers(), std::vector<double>{2.5});
  EXPECT_EQ(array(GgufType::string, 1, raw_text("x")).numbers(), std::nullopt);
  EXPECT_EQ(array(GgufType::string, 1, raw_text("x")).size(), 1U);
  EXPECT_EQ(GgufValue::u32(1).numbers(), std::nullopt);
}

// Anybody can construct a value from a type and bytes.
TEST(GgufValue, ValuesWithMissingBytesHaveNoContent) {
  EXPECT_EQ(GgufValue(GgufType::u32, "abc").number(), std::nullopt);
  EXPECT_EQ(GgufValue(GgufType::u64, "").count(), std::nullopt);
  EXPECT_EQ(GgufValue(GgufType::string, raw(std::uint64_t{5}) + "four").text(), std::nullopt);
  EXPECT_EQ(array(GgufType::u32, std::uint64_t{1} << 60, "1234").numbers(), std::nullopt);
  EXPECT_EQ(GgufValue(GgufType::array, "short").size(), 0U);
  EXPECT_EQ(GgufValue(static_cast<GgufType>(99), "x").number(), std::nullopt);
  EXPECT_EQ(GgufValue(static_cast<GgufType>(99), "x").display(), "<unknown>");
}

TEST(GgufValue, IsShownInAFewWords) {
  EXPECT_EQ(GgufValue::u32(8192).display(), "8192");
  EXPECT_EQ(GgufValue::f32(0.1F).display(), "0.1");  // not 0.10000000149011612
  EXPECT_EQ(GgufValue(GgufType::i8, raw(std::int8_t{-5})).display(), "-5");
  EXPECT_EQ(GgufValue(GgufType::u8, raw(std::uint8_t{65})).display(), "65");
  EXPECT_EQ(GgufValue::boolean(true).display(), "true");
  EXPECT_EQ(GgufValue::text("llama").display(), "\"llama\"");
  EXPECT_EQ(GgufValue::i32_array(std::array<std::int32_t, 3>{1, 2, 3}).display(), "[1, 2, 3]");
  EXPECT_EQ(array(GgufType::u8, 9, "123456789").display(), "[9 u8]");
  EXPECT_EQ(array(GgufType::string, 2, raw_text("a") + raw_text("b")).display(), "[2 strings]");
}

TEST(GgufValue, TextFromAFileCannotSteerATerminal) {
  EXPECT_EQ(GgufValue::text("\x1b[31mred\n\x7f").display(), "\"?[31mred??\"");
  EXPECT_EQ(GgufValue::text("größe 模型").display(), "\"größe 模型\"");
  EXPECT_EQ(GgufValue::text("\xc2\x9b"
                            "31m \xff\xc3")
                .display(),
            "\"??31m ??\"");
  EXPECT_EQ(GgufValue::text(std::string(79, 'x') + "ö").display(), "\"" + std::string(79, 'x') + "…\"");
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// f16 and bf16 in and out of the kernels, for all 65 536 bit patterns.
#include <bit>

#include "tests/rotary/support.h"

namespace mrrope {
namespace {

using test::Elements;

constexpr std::size_t kPatterns = 65536;

// Each pattern as the first coordinate of a pair whose second is 0, times `scale`.
Elements scaled_patterns(ElementType type, float scale) {
  Elements all(type, 2 * kPatterns);
  for (std::size_t bits = 0; bits < kPatterns; ++bits) all.set_bits(2 * bits, static_cast<std::uint16_t>(bits));
  const double still = 0;
  const std::vector<std::int32_t> positions(kPatterns, 0);
  apply_rotary(RotaryTable(std::span(&still, 1), scale), positions, all.data(),
               {.type = type, .layout = PairLayout::interleaved, .heads = 1, .head_dim = 2});
  return all;
}

float value_of(ElementType type, std::uint16_t bits) {
  return type == ElementType::f16 ? rotary::from_half(bits) : rotary::from_bfloat(bits);
}

// 1.5 puts every second number half-way between two others, 0.5 does it to the subnormal ones, 3 overflows; 0.7 has
// no ties.
TEST(RotaryElements, EveryPatternIsReadAndRoundedToNearestEven) {
  test::on_every_target([] {
    for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
      for (const float scale : {1.0F, 1.5F, 0.5F, 3.0F, 0.7F}) {
        const Elements scaled = scaled_patterns(type, scale);
        for (std::size_t bits = 0; bits < kPatterns; ++bits) {
          const float value = value_of(type, static_cast<std::uint16_t>(bits)) * scale;
          const float found = scaled.get(2 * bits);
          if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(found)) << bits;
            continue;
          }
          const std::uint16_t expected = type == ElementType::f16 ? rotary::to_half(value) : rotary::to_bfloat(value);
          ASSERT_EQ(scaled.bits(2 * bits), expected) << test::name_of(type) << " " << bits << " times " << scale;
        }
      }
    }
  });
}

// The conversions of the reference from their definition: patterns in order are numbers in order, what lies between two
// goes to the nearer one, and the middle to the even one.
TEST(RotaryElements, TheReferenceRoundsToTheNearerNeighbour) {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    const unsigned infinity = type == ElementType::f16 ? 0x7C00 : 0x7F80;
    const auto round = [&](float x) {
      return unsigned{type == ElementType::f16 ? rotary::to_half(x) : rotary::to_bfloat(x)};
    };
    for (unsigned bits = 0; bits < infinity; ++bits) {
      const float low = value_of(type, static_cast<std::uint16_t>(bits));
      ASSERT_EQ(round(low), bits);
      ASSERT_EQ(round(-low), bits | 0x8000U);
      if (bits + 1 == infinity) break;
      const float high = value_of(type, static_cast<std::uint16_t>(bits + 1));
      const float middle = low + (high - low) / 2;
      ASSERT_LT(low, high);
      ASSERT_EQ(round(middle), bits % 2 == 0 ? bits : bits + 1);
      ASSERT_EQ(round(std::nextafter(middle, low)), bits);
      ASSERT_EQ(round(std::nextafter(middle, high)), bits + 1);
    }
  }
  EXPECT_EQ(rotary::from_half(0x3C00), 1);
  EXPECT_EQ(rotary::from_half(0x0001), 0x1p-24F);
  EXPECT_EQ(rotary::from_half(0xFBFF), -65504);
  EXPECT_EQ(rotary::to_half(65519.99F), 0x7BFF);
  EXPECT_EQ(rotary::to_half(65520), 0x7C00);
  EXPECT_EQ(rotary::from_bfloat(0x3FC0), 1.5F);
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// Keys that move: to other positions, to another plan, there and back.
#include "tests/rotary/support.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

using test::Elements;

constexpr std::size_t kTokens = 6;
const std::vector<std::int32_t> kOld = {0, 1, 4095, 70'000, 1 << 20, -5};
const std::vector<std::int32_t> kNew = {9, 0, 4094, 7, (1 << 24) - 1, 2'000'000'000};

HeadShape shape_of(ElementType type, PairLayout layout) {
  return {.type = type, .layout = layout, .heads = 2, .head_dim = 128};
}

Elements keys(const HeadShape& shape) {
  return test::random_elements(shape.type, kTokens * shape.heads * shape.head_dim, 11);
}

RotaryTable extended(std::int64_t context) {
  return rotary_table(*make_plan(test::llama2_spec(), context, MrRopePro{}));
}

template <class Check>
void in_every_form(Check check) {
  test::on_every_target([&] {
    for (const ElementType type : test::kTypes) {
      for (const PairLayout layout : test::kLayouts) {
        SCOPED_TRACE(test::name_of(type));
        check(shape_of(type, layout));
      }
    }
  });
}

// Coordinates are at most 1, pairs at most sqrt 2. Two rotations each cost kError of a pair, and a type of 16 bits is
// rounded before (its error is turned, too: both coordinates of it) and after.
double tolerance(const HeadShape& shape, double scale) {
  return scale * (3 * 1.5 * test::kError + 3 * test::half_ulp(shape.type, 1.4));
}

void expect_near(const Elements& found, const Elements& expected, double allowed) {
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found.get(i), expected.get(i), allowed) << i;
}

TEST(ReRotate, MovedKeysAreThoseOfTheirNewPlaceAndPlan) {
  const RotaryTable from = extended(16384);
  const RotaryTable to = extended(65536);
  ASSERT_NE(from.attention_scale(), to.attention_scale());
  in_every_form([&](const HeadShape& shape) {
    Elements moved = keys(shape);
    Elements fresh = moved;
    apply_rotary(from, kOld, moved.data(), shape);
    re_rotate(from, kOld, to, kNew, moved.data(), shape);
    apply_rotary(to, kNew, fresh.data(), shape);
    expect_near(moved, fresh, tolerance(shape, to.attention_scale()));
  });
}

// llama.cpp multiplies a cache by the attention factor again with every shift.
TEST(ReRotate, ShiftingAThousandTimesKeepsLengths) {
  const RotaryTable table = extended(65536);
  test::on_every_target([&] {
    const HeadShape shape = shape_of(ElementType::f32, PairLayout::half_split);
    Elements cache = keys(shape);
    Elements fresh = cache;
    std::vector<std::int32_t> at = kOld;
    apply_rotary(table, at, cache.data(), shape);
    for (int shift = 0; shift < 1000; ++shift) {
      std::vector<std::int32_t> next = at;
      for (std::int32_t& position : next) position -= 513;
      re_rotate(table, at, table, next, cache.data(), shape);
      at = next;
    }
    apply_rotary(table, at, fresh.data(), shape);
    // The same turn with the same error a thousand times; pairs are up to sqrt 2 long
    expect_near(cache, fresh, 1000 * 1.5 * table.attention_scale() * test::kError);
  });
}

TEST(ReRotate, ToWhereTheyAreChangesNothing) {
  in_every_form([](const HeadShape& shape) {
    const RotaryTable table = extended(65536);
    Elements cache = keys(shape);
    apply_rotary(table, kOld, cache.data(), shape);
    const Elements before = cache;
    re_rotate(table, kOld, table, kOld, cache.data(), shape);
    EXPECT_EQ(cache, before);
  });
}

TEST(ReRotate, ARangeMovesItsTokensOnly) {
  in_every_form([](const HeadShape& shape) {
    const RotaryTable from = extended(16384);
    const RotaryTable to = extended(65536);
    const Elements before = keys(shape);
    Elements whole = before;
    re_rotate(from, kOld, to, kNew, whole.data(), shape);
    Elements part = before;
    re_rotate(from, kOld, to, kNew, part.data(), shape, {.first = 2, .last = 4});
    const std::size_t token = shape.heads * shape.head_dim;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool inside = i / token >= 2 && i / token < 4;
      ASSERT_EQ(part.get(i), (inside ? whole : before).get(i)) << i;
    }
  });
}

}  // namespace
}  // namespace mrrope

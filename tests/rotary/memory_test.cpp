// SPDX-License-Identifier: MIT
//
// Where the vectors lie must not matter: sizes, tails, strides, alignment, copies, ranges. Each element is compared
// with the same pair alone in a head of its own, bit for bit.
#include "tests/rotary/support.h"

namespace mrrope {
namespace {

using test::Elements;

// A tensor with room between its heads and tokens.
struct Tensor {
  Tensor(const HeadShape& form, std::size_t token_count, unsigned seed, std::size_t offset = 0)
      : shape(form), tokens(token_count), elements(test::random_elements(form.type, extent(), seed, offset)) {}

  [[nodiscard]] std::size_t head_stride() const { return shape.head_stride == 0 ? shape.head_dim : shape.head_stride; }
  [[nodiscard]] std::size_t token_stride() const {
    return shape.token_stride == 0 ? shape.heads * head_stride() : shape.token_stride;
  }
  // Up to the last coordinate and no further.
  [[nodiscard]] std::size_t extent() const {
    return (tokens - 1) * token_stride() + (shape.heads - 1) * head_stride() + shape.head_dim;
  }
  [[nodiscard]] std::size_t at(std::size_t token, std::size_t head) const {
    return token * token_stride() + head * head_stride();
  }

  HeadShape shape;
  std::size_t tokens;
  Elements elements;
};

constexpr std::int32_t kPositions[] = {5, 0, -3, 70'000, 5, 2'000'000'000, 1};

std::span<const std::int32_t> positions(std::size_t count) { return std::span(kPositions).first(count); }

struct Point {
  float x, y;
};

// What one pair becomes that is alone in the world.
Point alone(ElementType type, float x, float y, double inv_freq, std::int32_t position) {
  Elements pair(type, 2);
  pair.set(0, x);
  pair.set(1, y);
  apply_rotary(RotaryTable(std::span(&inv_freq, 1)), std::span(&position, 1), pair.data(),
               {.type = type, .heads = 1, .head_dim = 2});
  return {pair.get(0), pair.get(1)};
}

// `after` is `before`, rotated, and everything else in it is still what it was in `untouched`.
void expect_rotated(const Tensor& before, const Tensor& after, const Elements& untouched, std::size_t pairs,
                    const std::vector<double>& inv_freq) {
  std::vector<bool> checked(after.elements.size());
  for (std::size_t t = 0; t < before.tokens; ++t) {
    for (std::size_t h = 0; h < before.shape.heads; ++h) {
      const std::size_t from = before.at(t, h);
      const std::size_t to = after.at(t, h);
      for (std::size_t i = 0; i < pairs; ++i) {
        const test::PairPlace p = test::place(before.shape.layout, pairs, i);
        const auto [x, y] = alone(before.shape.type, before.elements.get(from + p.x), before.elements.get(from + p.y),
                                  inv_freq[i], kPositions[t]);
        ASSERT_EQ(after.elements.get(to + p.x), x) << "token " << t << " head " << h << " pair " << i;
        ASSERT_EQ(after.elements.get(to + p.y), y) << "token " << t << " head " << h << " pair " << i;
      }
      for (std::size_t i = 2 * pairs; i < before.shape.head_dim; ++i) {
        ASSERT_EQ(after.elements.get(to + i), before.elements.get(from + i)) << "not rotated, " << i;
      }
      for (std::size_t i = 0; i < before.shape.head_dim; ++i) checked[to + i] = true;
    }
  }
  for (std::size_t i = 0; i < checked.size(); ++i) {
    if (checked[i]) continue;
    ASSERT_EQ(after.elements.get(i), untouched.get(i)) << "between heads, " << i;
  }
}

void expect_in_place(const HeadShape& shape, std::size_t pairs, std::size_t tokens, std::size_t offset = 0) {
  const std::vector<double> inv_freq = test::speeds(pairs);
  const Tensor before(shape, tokens, 1, offset);
  Tensor after = before;
  apply_rotary(RotaryTable(inv_freq), positions(tokens), after.elements.data(), shape);
  expect_rotated(before, after, before.elements, pairs, inv_freq);
}

template <class Check>
void in_every_form(Check check) {
  test::on_every_target([&] {
    for (const ElementType type : test::kTypes) {
      for (const PairLayout layout : test::kLayouts) {
        SCOPED_TRACE(test::name_of(type) + (layout == PairLayout::half_split ? ", half-split" : ", interleaved"));
        check(HeadShape{.type = type, .layout = layout});
      }
    }
  });
}

// A vector has 16 lanes at most on this side of SVE: 1 … 33 pairs end in every possible tail, twice. The blocks of the
// kernel have 128.
TEST(RotaryMemory, EverySizeIsRotatedToItsEnd) {
  in_every_form([](HeadShape shape) {
    shape.heads = 2;
    for (std::size_t pairs = 1; pairs <= 33; ++pairs) {
      shape.head_dim = 2 * pairs;
      expect_in_place(shape, pairs, 2);
    }
    for (const std::size_t pairs : {64U, 127U, 128U, 129U, 300U}) {
      shape.head_dim = 2 * pairs;
      expect_in_place(shape, pairs, 1);
    }
  });
}

TEST(RotaryMemory, CoordinatesBeyondTheRotatedOnesAreKept) {
  in_every_form([](HeadShape shape) {
    shape.heads = 3;
    for (const std::size_t rest : {1U, 2U, 7U, 48U}) {
      shape.head_dim = 2 * 24 + rest;
      expect_in_place(shape, 24, 3);
    }
  });
}

TEST(RotaryMemory, AnyElementMayBeTheFirst) {
  in_every_form([](HeadShape shape) {
    shape.heads = 2;
    shape.head_dim = 2 * 20;
    for (std::size_t offset = 1; offset < 17; ++offset) expect_in_place(shape, 20, 2, offset);
  });
}

TEST(RotaryMemory, HeadsAndTokensMayLieApartOrInAnotherOrder) {
  in_every_form([](HeadShape shape) {
    shape.heads = 3;
    shape.head_dim = 40;
    // A row of queries, keys and values
    shape.head_stride = 0;
    shape.token_stride = 5 * 40;
    expect_in_place(shape, 20, 4);
    // The rotated part of a larger head
    shape.head_stride = 57;
    shape.token_stride = 0;
    expect_in_place(shape, 20, 4);
    // A cache (heads, tokens, head_dim)
    shape.head_stride = 4 * 40;
    shape.token_stride = 40;
    expect_in_place(shape, 20, 4);
  });
}

TEST(RotaryMemory, ACopyIsWhatInPlaceWouldBe) {
  in_every_form([](HeadShape shape) {
    constexpr std::size_t kPairs = 19;
    shape.heads = 3;
    shape.head_dim = 2 * kPairs + 5;
    HeadShape apart = shape;
    apart.head_stride = shape.head_dim + 3;
    apart.token_stride = 3 * apart.head_stride + 1;
    const std::vector<double> inv_freq = test::speeds(kPairs);
    for (const auto& [from, to] : {std::pair(shape, apart), std::pair(apart, shape), std::pair(shape, shape)}) {
      const Tensor source(from, 4, 2);
      const Elements kept = source.elements;
      Tensor destination(to, 4, 3);
      const Elements untouched = destination.elements;
      apply_rotary(RotaryTable(inv_freq), positions(4), source.elements.data(), from, destination.elements.data(), to);
      expect_rotated(source, destination, untouched, kPairs, inv_freq);
      EXPECT_EQ(source.elements, kept);
    }
  });
}

TEST(RotaryMemory, RangesOfTokensAddUpToAll) {
  in_every_form([](HeadShape shape) {
    shape.heads = 2;
    shape.head_dim = 32;
    const RotaryTable table(test::speeds(16));
    const Tensor before(shape, 7, 4);
    Tensor whole = before;
    apply_rotary(table, positions(7), whole.elements.data(), shape);
    Tensor parts = before;
    for (const TokenRange range : {TokenRange{4, 6}, TokenRange{0, 1}, TokenRange{1, 4}, TokenRange{4, 4},
                                   TokenRange{.first = 6}, TokenRange{7, 9}, TokenRange{.first = 100}}) {
      apply_rotary(table, positions(7), parts.elements.data(), shape, range);
    }
    EXPECT_EQ(parts.elements, whole.elements);
  });
}

TEST(RotaryMemory, NoTokensAndNoHeadsAreNothingToDo) {
  const RotaryTable table(test::speeds(8));
  test::on_every_target([&] {
    apply_rotary(table, {}, nullptr, {.heads = 4, .head_dim = 16});
    apply_rotary(table, positions(3), nullptr, {.heads = 0, .head_dim = 16});
  });
}

}  // namespace
}  // namespace mrrope

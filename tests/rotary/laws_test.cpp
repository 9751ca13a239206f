// SPDX-License-Identifier: MIT
//
// What makes a rotation a rotation, for every instruction set, type and layout.
#include <algorithm>

#include "tests/rotary/support.h"

namespace mrrope {
namespace {

using test::Elements;

struct Setting {
  RotaryTable table{test::speeds(64)};
  HeadShape shape{.heads = 1, .head_dim = 128};
};

void rotate(const Setting& setting, std::int32_t position, Elements& head) {
  apply_rotary(setting.table, std::span(&position, 1), head.data(), setting.shape);
}

double dot(const Elements& a, const Elements& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a.get(i)) * static_cast<double>(b.get(i));
  return sum;
}

template <class Check>
void in_every_setting(Check check) {
  test::on_every_target([&] {
    for (const PairLayout layout : test::kLayouts) {
      Setting setting;
      setting.shape.layout = layout;
      check(setting);
    }
  });
}

TEST(RotaryLaws, PositionZeroChangesNothing) {
  in_every_setting([](Setting& setting) {
    for (const ElementType type : test::kTypes) {
      setting.shape.type = type;
      const Elements before = test::random_elements(type, 128, 1);
      Elements after = before;
      rotate(setting, 0, after);
      EXPECT_EQ(after, before) << test::name_of(type);
    }
  });
}

TEST(RotaryLaws, LengthsOfPairsAreKept) {
  in_every_setting([](const Setting& setting) {
    for (const std::int32_t position : {1, 4095, 131071, 1 << 20, (1 << 24) - 1}) {
      Elements head = test::unit_pairs(ElementType::f32, setting.shape.layout, 64, 2);
      rotate(setting, position, head);
      for (std::size_t i = 0; i < 64; ++i) {
        const test::PairPlace at = test::place(setting.shape.layout, 64, i);
        EXPECT_NEAR(std::hypot(head.get(at.x), head.get(at.y)), 1, 2 * test::kError) << position << " pair " << i;
      }
    }
  });
}

TEST(RotaryLaws, TwoTurnsAreOneByTheSum) {
  in_every_setting([](const Setting& setting) {
    for (const std::int32_t a : {1, 77, 100'003, 1 << 23}) {
      for (const std::int32_t b : {2, 4096, -99'999, (1 << 23) - 5}) {
        Elements one_by_one = test::unit_pairs(ElementType::f32, setting.shape.layout, 64, 3);
        Elements at_once = one_by_one;
        rotate(setting, a, one_by_one);
        rotate(setting, b, one_by_one);
        rotate(setting, a + b, at_once);
        for (std::size_t i = 0; i < 128; ++i) EXPECT_NEAR(one_by_one.get(i), at_once.get(i), 3 * test::kError);
      }
    }
  });
}

// The property attention relies on. float32 angles lose it: at 2^24 they differ by tenths.
TEST(RotaryLaws, ScoresDependOnTheDistanceOnly) {
  in_every_setting([](const Setting& setting) {
    const Elements q = test::unit_pairs(ElementType::f32, setting.shape.layout, 64, 4);
    const Elements k = test::unit_pairs(ElementType::f32, setting.shape.layout, 64, 5);
    for (const std::int32_t distance : {0, 1, 13, 1000}) {
      const auto score = [&](std::int32_t position) {
        Elements query = q;
        Elements key = k;
        rotate(setting, position + distance, query);
        rotate(setting, position, key);
        return dot(query, key) / 64;
      };
      for (const std::int32_t position : {1, 4096, 1'000'000, 1 << 24, 2'000'000'000}) {
        EXPECT_NEAR(score(position), score(0), 1e-7) << distance << " at " << position;
      }
    }
  });
}

TEST(RotaryLaws, LayoutsAgreeBitForBit) {
  test::on_every_target([] {
    for (const ElementType type : test::kTypes) {
      Setting split;
      Setting interleaved;
      split.shape.type = interleaved.shape.type = type;
      interleaved.shape.layout = PairLayout::interleaved;
      Elements a = test::unit_pairs(type, PairLayout::half_split, 64, 6);
      Elements b = test::unit_pairs(type, PairLayout::interleaved, 64, 6);
      rotate(split, 123'456, a);
      rotate(interleaved, 123'456, b);
      for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(a.get(i), b.get(2 * i)) << i;
        EXPECT_EQ(a.get(64 + i), b.get(2 * i + 1)) << i;
      }
    }
  });
}

TEST(RotaryLaws, TheAttentionScaleMultipliesWhatIsRotated) {
  in_every_setting([](Setting& setting) {
    Elements plain = test::unit_pairs(ElementType::f32, setting.shape.layout, 64, 8);
    Elements scaled = plain;
    rotate(setting, 5000, plain);
    setting.table = RotaryTable(test::speeds(64), 1.25);
    rotate(setting, 5000, scaled);
    for (std::size_t i = 0; i < 128; ++i) EXPECT_NEAR(scaled.get(i), 1.25 * plain.get(i), 1.25 * test::kError);
  });
}

TEST(RotaryLaws, APairWithoutSpeedStandsStill) {
  in_every_setting([](Setting& setting) {
    setting.table = RotaryTable(std::vector<double>(64, 0.0));
    const Elements before = test::random_elements(ElementType::f32, 128, 9);
    Elements after = before;
    rotate(setting, std::numeric_limits<std::int32_t>::min(), after);
    EXPECT_EQ(after, before);
  });
}

TEST(RotaryLaws, NotANumberSpoilsItsOwnPairOnly) {
  in_every_setting([](Setting& setting) {
    for (const ElementType type : test::kTypes) {
      setting.shape.type = type;
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Elements clean = test::random_elements(type, 128, 10);
        Elements spoilt = clean;
        const test::PairPlace at = test::place(setting.shape.layout, 64, 17);
        spoilt.set(at.x, bad);
        rotate(setting, 3, clean);
        rotate(setting, 3, spoilt);
        for (std::size_t i = 0; i < 128; ++i) {
          if (i == at.x || i == at.y) {
            EXPECT_FALSE(std::isfinite(spoilt.get(i))) << test::name_of(type);
          } else {
            EXPECT_EQ(spoilt.get(i), clean.get(i)) << test::name_of(type);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace mrrope

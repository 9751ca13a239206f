// SPDX-License-Identifier: MIT
//
// The error that mrrope/rotary.h promises, at positions up to 2^24 and at the ends of the type.
#include <algorithm>
#include <cstdio>

#include "tests/rotary/support.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

using test::Elements;
using test::Exact;

// All powers of two and their neighbours on both sides of 0, the ends of the type, and a random sample of 0 … 2^24.
std::vector<std::int32_t> sampled_positions(std::size_t random_ones) {
  std::vector<std::int32_t> positions = {0, std::numeric_limits<std::int32_t>::min(),
                                         std::numeric_limits<std::int32_t>::max()};
  for (std::int64_t power = 1; power <= (std::int64_t{1} << 30); power *= 2) {
    for (const std::int64_t near : {power - 1, power, power + 1}) {
      positions.push_back(static_cast<std::int32_t>(near));
      positions.push_back(static_cast<std::int32_t>(-near));
    }
  }
  std::mt19937 random(24);
  std::uniform_int_distribution<std::int32_t> uniform(0, 1 << 24);
  for (std::size_t i = 0; i < random_ones; ++i) positions.push_back(uniform(random));
  return positions;
}

// One head with pairs of length 1 at every position.
struct Sample {
  explicit Sample(const Plan& plan, std::size_t random_ones)
      : table(rotary_table(plan)), inv_freq(plan.groups[0].inv_freq), positions(sampled_positions(random_ones)) {}

  RotaryTable table;
  std::vector<double> inv_freq;
  std::vector<std::int32_t> positions;
};

// The largest distance of a coordinate from the exact rotation, less what rounding to the type may cost.
double worst_error(const Sample& sample, ElementType type, PairLayout layout, const std::vector<Exact>& truth,
                   const Elements& head, double scale) {
  const std::size_t pairs = sample.table.pairs();
  Elements rotated(type, sample.positions.size() * 2 * pairs);
  const HeadShape shape{.type = type, .layout = layout, .heads = 1, .head_dim = 2 * pairs};
  for (std::size_t t = 0; t < sample.positions.size(); ++t) {
    for (std::size_t i = 0; i < 2 * pairs; ++i) rotated.set(t * 2 * pairs + i, head.get(i));
  }
  apply_rotary(sample.table, sample.positions, rotated.data(), shape);
  double worst = 0;
  for (std::size_t t = 0; t < sample.positions.size(); ++t) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const Exact& e = truth[t * pairs + pair];
      const test::PairPlace at = test::place(layout, pairs, pair);
      const auto miss = [&](float found, long double expected) {
        return static_cast<double>(std::fabs(found - expected)) - test::half_ulp(type, static_cast<double>(expected));
      };
      worst = std::max({worst, miss(rotated.get(t * 2 * pairs + at.x), e.x) / scale,
                        miss(rotated.get(t * 2 * pairs + at.y), e.y) / scale});
    }
  }
  return worst;
}

void expect_small_errors(const Sample& sample, ElementType type) {
  const std::size_t pairs = sample.table.pairs();
  const double scale = sample.table.attention_scale();
  // The exact result once: it is what takes the time
  const Elements reference = test::unit_pairs(type, PairLayout::interleaved, pairs, 7);
  std::vector<Exact> truth;
  for (const std::int32_t position : sample.positions) {
    for (std::size_t i = 0; i < pairs; ++i) {
      truth.push_back(test::exact(reference.get(2 * i), reference.get(2 * i + 1), position, sample.inv_freq[i], scale));
    }
  }
  test::on_every_target([&] {
    for (const PairLayout layout : test::kLayouts) {
      const double worst = worst_error(sample, type, layout, truth, test::unit_pairs(type, layout, pairs, 7), scale);
      std::printf("%s %s: %.3g\n", rotary::instruction_set(), test::name_of(type).c_str(), worst);
      EXPECT_LE(worst, test::kUsualError);
    }
  });
}

Plan extended() { return *make_plan(test::llama2_spec(), 65536, MrRopePro{}); }

TEST(RotaryAccuracy, F32IsExactUpToItsPromiseAtEveryPosition) {
  expect_small_errors(Sample(extended(), 6000), ElementType::f32);
}

TEST(RotaryAccuracy, F16IsOneRoundingFromTheExactRotation) {
  expect_small_errors(Sample(extended(), 600), ElementType::f16);
}

TEST(RotaryAccuracy, BF16IsOneRoundingFromTheExactRotation) {
  expect_small_errors(Sample(extended(), 600), ElementType::bf16);
}

// A model of today: base 500 000, with a scaling of its own and no attention scale.
TEST(RotaryAccuracy, HoldsForAModelThatWasScaledBefore) {
  expect_small_errors(Sample(*make_plan(test::llama31_spec(), 262144, MrRopePro{}), 600), ElementType::f32);
}

// Angles as engines compute them, float32 position times float32 speed: the reason for this room to exist.
TEST(RotaryAccuracy, Float32AnglesAreOffByPercentsOfARadianAtAMillion) {
  const std::vector<double> inv_freq = test::speeds(64);
  double worst = 0;
  for (std::int32_t position = 1'000'000; position < 1'000'500; ++position) {
    for (const double speed : inv_freq) {
      const float angle = static_cast<float>(position) * static_cast<float>(speed);
      worst = std::max(worst, std::fabs(static_cast<double>(angle) - position * speed));
    }
  }
  EXPECT_GT(worst, 0.02);
}

}  // namespace
}  // namespace mrrope

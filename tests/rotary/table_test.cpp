// SPDX-License-Identifier: MIT
#include "tests/rotary/support.h"
#include "tests/support/specs.h"

namespace mrrope {
namespace {

// 1 / 2 pi = 0.28BE60DB 9391054A 7F09D5F4 7D4D3770 … (hexadecimal), so 2^64 / 2 pi is known to any digit.
TEST(RotaryTable, StepsAreFractionsOfATurnToTheLastBit) {
  const std::vector<double> inv_freq = {1, 0.5, 2, 0x1p-20, 0x1p-70, 8, 0};
  const std::vector<std::uint64_t> steps = {
      0x28BE60DB9391054A, 0x145F306DC9C882A5, 0x517CC1B727220A95, 0x0000028BE60DB939, 0, 0x45F306DC9C882A54, 0};
  const RotaryTable table(inv_freq);
  ASSERT_EQ(table.pairs(), inv_freq.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // One unit for the last operation of long double
    const auto distance = static_cast<std::int64_t>(table.step(i) - steps[i]);
    EXPECT_LE(std::abs(distance), 1) << i << ": " << std::hex << table.step(i);
  }
}

TEST(RotaryTable, IsThePlansTable) {
  const Plan plan = *make_plan(test::llama2_spec(), 65536, MrRopePro{});
  EXPECT_EQ(rotary_table(plan), RotaryTable(plan.groups[0].inv_freq, plan.groups[0].attention_scale));
  EXPECT_NE(rotary_table(plan), RotaryTable(plan.groups[0].inv_freq));
  EXPECT_EQ(rotary_table(plan).attention_scale(), plan.groups[0].attention_scale);
}

// Gemma 3 slides a window over most layers; those rotate as they always did, whatever the plan does to the others.
TEST(RotaryTable, AGroupThatIsNotExtendedKeepsItsTable) {
  const RopeSpec gemma = test::gemma3_spec();
  const Plan plan = *make_plan(gemma, 4 * gemma.context_trained, MrRopePro{});
  EXPECT_EQ(rotary_table(plan, 1), RotaryTable(plain_spectrum(256, 10000, 131072).inv_freq));
  EXPECT_NE(rotary_table(plan, 0), RotaryTable(spectrum_of(gemma, 0).inv_freq));
  // And with nothing to extend, the other group has what the model was trained with
  const Plan plain = *make_plan(gemma, gemma.context_trained, MrRopePro{});
  EXPECT_EQ(rotary_table(plain, 0), RotaryTable(spectrum_of(gemma, 0).inv_freq));
}

TEST(RotaryTable, PairsThatDoNotRotateHaveNoStep) {
  const Plan plan = *make_plan(test::llama2_spec(), 65536, test::method("ntk+clip:keep=10"));
  const RotaryTable table = rotary_table(plan);
  for (std::size_t i = 0; i < table.pairs(); ++i) {
    EXPECT_EQ(table.step(i) == 0, plan.groups[0].inv_freq[i] == 0) << i;
  }
}

TEST(RotaryTable, HalvesEndInZerosForWholeVectors) {
  const RotaryTable table(test::speeds(65));
  for (std::size_t i = 65; i < 2 * RotaryTable::kPadding; ++i) {
    EXPECT_EQ(table.upper()[i], 0U);
    EXPECT_EQ(table.lower()[i], 0U);
  }
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// Without a plan: every node that is taken comes to what ggml computes where ggml is right, and to the exact rotation
// where it is not.
#include <algorithm>
#include <cmath>

#include "tests/plugin/support.h"

namespace mrrope::test {
namespace {

std::vector<float> some_factors(std::size_t pairs) {
  std::vector<float> factors;
  for (std::size_t i = 0; i < pairs; ++i) factors.push_back(1 + 0.25F * static_cast<float>(i % 7));
  return factors;
}

// Every form that models have.
std::vector<RopeCase> forms() {
  std::vector<RopeCase> cases;
  for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
    for (const int mode : {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE, GGML_ROPE_TYPE_IMROPE}) {
      RopeCase plain;
      plain.type = type;
      plain.mode = mode;
      if ((mode & GGML_ROPE_TYPE_MROPE) != 0) {
        plain.sections = {8, 12, 12, 0};  // interleaved, three pairs are left to the extra position
        plain.positions = of_text(plain.positions);
        RopeCase picture = plain;  // text, three tokens of a picture, text
        picture.positions = {0, 7, 7, 7, 9, 0, 7, 7, 8, 9, 0, 7, 8, 7, 9, 0, 0, 2, 0, 0};
        cases.push_back(picture);
        picture.sections = {4, 3, 2, 1};  // periodic, with an extra section of its own
        cases.push_back(picture);
      }
      cases.push_back(plain);
      RopeCase in_place = plain;
      in_place.in_place = true;
      cases.push_back(in_place);
      RopeCase fused = plain;  // the last heads of a row of queries, keys and values
      fused.row = 9;
      cases.push_back(fused);
      RopeCase partial = plain;
      partial.n_dims = 24;
      cases.push_back(partial);
      RopeCase behind = plain;  // DeepSeek: the rotated dimensions come last
      behind.n_dims = 24;
      behind.offset = 40;
      cases.push_back(behind);
      RopeCase sequences = plain;
      sequences.ne = {64, 2, 5, 3};
      cases.push_back(sequences);
      RopeCase factors = plain;
      factors.factors = some_factors(32);
      cases.push_back(factors);
      RopeCase linear = plain;
      linear.freq_scale = 0.125F;
      linear.attn_factor = 1.2F;
      cases.push_back(linear);
      RopeCase yarn = plain;
      yarn.freq_base = 1e6F;
      yarn.freq_scale = 0.25F;
      yarn.ext_factor = 1;
      yarn.attn_factor = 0.9F;
      cases.push_back(yarn);
    }
  }
  return cases;
}

TEST(PluginNodes, AgreeWithGgmlAtSmallPositions) {
  LoadedPlugin plugin;
  const ggml_backend_ptr cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
  int index = 0;
  for (const RopeCase& c : forms()) {
    SCOPED_TRACE(index++);
    RopeGraph theirs(c);
    ASSERT_EQ(theirs.run(cpu.get()), GGML_STATUS_SUCCESS);
    const std::vector<float> expected = theirs.after();
    const std::vector<float> found = rotated(plugin, c);
    // ggml's angle is a product of up to 32 roundings times a position of at most 40: 40 * 32 * 2^-24 rad of a pair no
    // longer than sqrt 2 * 1.2; f16 results may differ by a unit in the last place of numbers below 2.
    const double tolerance = 1.7 * 40 * 32 * 0x1p-24 + (c.type == GGML_TYPE_F16 ? 0x1p-10 : 0);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
  }
}

TEST(PluginNodes, AreExactAtEveryPosition) {
  LoadedPlugin plugin;
  for (const int mode : {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX}) {
    RopeCase c;
    c.mode = mode;
    c.positions = {0, 131'071, 1 << 20, (1 << 24) - 1, -5};
    RopeGraph graph(c);
    ASSERT_EQ(graph.run(plugin.backend()), GGML_STATUS_SUCCESS);
    const std::vector<float> found = graph.after();
    for (std::size_t row = 0; row < 15; ++row) {
      for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t x = row * 64 + (mode == GGML_ROPE_TYPE_NEOX ? i : 2 * i);
        const std::size_t y = mode == GGML_ROPE_TYPE_NEOX ? x + 32 : x + 1;
        const long double angle =
            c.positions[row / 3] * static_cast<long double>(std::pow(10000.0, -static_cast<double>(i) / 32));
        // 4e-7 of a pair (mrrope/rotary.h), no longer than sqrt 2
        EXPECT_NEAR(found[x],
                    static_cast<double>(graph.before()[x] * std::cos(angle) - graph.before()[y] * std::sin(angle)),
                    6e-7);
        EXPECT_NEAR(found[y],
                    static_cast<double>(graph.before()[y] * std::cos(angle) + graph.before()[x] * std::sin(angle)),
                    6e-7);
      }
    }
  }
}

TEST(PluginNodes, ThreadsGiveTheSameBits) {
  RopeCase c;
  c.ne = {128, 16, 257, 2};  // 2 MiB: four shares
  c.n_dims = 128;
  c.positions.clear();
  for (int i = 0; i < 257; ++i) c.positions.push_back(1000 * i);
  LoadedPlugin plugin;
  plugin.set_n_threads(1);
  const std::vector<float> alone = rotated(plugin, c);
  for (const int threads : {2, 3, 7}) {
    plugin.set_n_threads(threads);
    EXPECT_EQ(rotated(plugin, c), alone) << threads;
  }
}

TEST(PluginNodes, TouchNothingOutsideTheirHeads) {
  LoadedPlugin plugin;
  RopeCase c;
  c.row = 9;
  c.in_place = true;
  RopeGraph graph(c);
  const std::vector<float> before = graph.memory();
  ASSERT_EQ(graph.run(plugin.backend()), GGML_STATUS_SUCCESS);
  const std::vector<float> after = graph.memory();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool rotated = i / 64 % 9 >= 6;
    ASSERT_TRUE(rotated || after[i] == before[i]) << i;
  }
}

// As exact as other rotations, each pair by the position of its section.
TEST(PluginNodes, OfPicturesAreExactAtEveryPosition) {
  LoadedPlugin plugin;
  RopeCase c;
  c.mode = GGML_ROPE_TYPE_MROPE;
  c.sections = {8, 12, 12, 0};
  c.attn_factor = 1.25F;
  c.positions = {131'071, 5, 5, 5, 1 << 20, 131'071, 5, 9'000, 1 << 20, 3, 131'071, 77, 5, 123'456, 4, 0, 0, 0, 0, 0};
  RopeGraph graph(c);
  ASSERT_EQ(graph.run(plugin.backend()), GGML_STATUS_SUCCESS);
  const std::vector<float> found = graph.after();
  for (std::size_t row = 0; row < 15; ++row) {
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t section = i < 8 ? 0 : i < 20 ? 1 : 2;
      const long double angle = c.positions[section * 5 + row / 3] *
                                static_cast<long double>(std::pow(10000.0, -static_cast<double>(i) / 32));
      const std::size_t x = row * 64 + i;
      // Twice 4e-7 of a pair (mrrope/rotary.h: four turns, of which three are by nothing), times its length and scale
      EXPECT_NEAR(
          found[x],
          1.25 * static_cast<double>(graph.before()[x] * std::cos(angle) - graph.before()[x + 32] * std::sin(angle)),
          1.5e-6);
      EXPECT_NEAR(
          found[x + 32],
          1.25 * static_cast<double>(graph.before()[x + 32] * std::cos(angle) + graph.before()[x] * std::sin(angle)),
          1.5e-6);
    }
  }
}

// Towers that look at pictures rotate by a rule of their own; training turns back; nobody rotates bf16 but a shifted
// cache.
TEST(PluginNodes, OthersAreLeftToGgml) {
  LoadedPlugin plugin;
  const auto taken = [&](const RopeCase& c, auto change) {
    RopeGraph graph(c);
    change(*graph.node());
    return ggml_backend_dev_supports_op(plugin.device(), graph.node());
  };
  const auto as_it_is = [](ggml_tensor&) {};
  EXPECT_TRUE(taken({}, as_it_is));
  EXPECT_FALSE(taken({}, [](ggml_tensor& node) { node.op_params[2] = GGML_ROPE_TYPE_VISION; }));
  RopeCase sectioned;
  sectioned.mode = GGML_ROPE_TYPE_IMROPE;
  sectioned.sections = {8, 12, 12, 0};
  sectioned.positions = of_text(sectioned.positions);
  EXPECT_TRUE(taken(sectioned, as_it_is));
  EXPECT_FALSE(taken(sectioned, [](ggml_tensor& node) { std::fill_n(node.op_params + 11, 4, 0); }));
  EXPECT_FALSE(taken(sectioned, [](ggml_tensor& node) { node.op_params[11] = -1; }));
  EXPECT_FALSE(taken(sectioned, [](ggml_tensor& node) { node.op_params[11] = 1 << 30; }));
  EXPECT_FALSE(taken(sectioned, [](ggml_tensor& node) { node.src[1]->ne[0] = 5; })) << "one position per token";
  EXPECT_FALSE(taken({}, [](ggml_tensor& node) { node.op = GGML_OP_ROPE_BACK; }));
  EXPECT_FALSE(taken({.type = GGML_TYPE_BF16}, as_it_is));
  EXPECT_FALSE(taken({}, [](ggml_tensor& node) { node.op = GGML_OP_SCALE; }));
  EXPECT_FALSE(taken({.freq_base = 0}, as_it_is));
  EXPECT_FALSE(taken({.freq_base = std::nanf("")}, as_it_is));
  EXPECT_FALSE(taken({.attn_factor = -1}, as_it_is));
  // Asked by llama.cpp about rope_freqs while it loads
  EXPECT_FALSE(taken({.n_dims = 0, .freq_base = 0}, as_it_is));
}

TEST(PluginNodes, AnglesThatAreNoNumbersAreAnError) {
  for (const float factor : {0.0F, -1.0F, std::nanf("")}) {
    LoadedPlugin plugin;
    RopeCase c;
    c.factors = some_factors(32);
    c.factors[5] = factor;
    RopeGraph graph(c);
    ASSERT_TRUE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
    EXPECT_EQ(graph.run(plugin.backend()), GGML_STATUS_FAILED);
    EXPECT_NE(plugin.messages().find("angles that are no numbers"), std::string::npos) << plugin.messages();
  }
}

TEST(PluginNodes, OtherFactorsUnderTheSameAddressAreSeen) {
  LoadedPlugin plugin;
  RopeCase c;
  c.factors = some_factors(32);
  RopeGraph graph(c);
  ASSERT_EQ(graph.run(plugin.backend()), GGML_STATUS_SUCCESS);
  const std::vector<float> first = graph.after();
  const std::vector<float> ones(32, 1.0F);
  ggml_backend_tensor_set(graph.node()->src[2], ones.data(), 0, ones.size() * sizeof(float));
  ASSERT_EQ(graph.run(plugin.backend()), GGML_STATUS_SUCCESS);
  EXPECT_NE(graph.after(), first);
  EXPECT_EQ(graph.after(), rotated(plugin, {}));
}

}  // namespace
}  // namespace mrrope::test

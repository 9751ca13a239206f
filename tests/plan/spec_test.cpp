// SPDX-License-Identifier: MIT
#include "mrrope/spec.h"

#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

std::string error(const std::string& text) {
  const auto result = parse_spec(text);
  return result ? "accepted" : to_string(result.error());
}

TEST(SpecText, ReadsThePlainModel) {
  const RopeSpec s = test::spec("dim=128,base=5e5,ctx=8k,name=Llama-3-8B");
  EXPECT_EQ(s.name, "Llama-3-8B");
  EXPECT_EQ(s.context_trained, 8192);
  ASSERT_EQ(s.groups.size(), 1U);
  EXPECT_EQ(s.groups[0].rotary_dim, 128);
  EXPECT_EQ(s.groups[0].base, 500000);
}

TEST(SpecText, ErrorsNameTheKey) {
  EXPECT_EQ(error("dim=128,base=10000"), "ctx: missing; a spec needs dim, base and ctx");
  EXPECT_EQ(error("dim=127,base=10000,ctx=4k"), "dim: expected an even number between 2 and 8192, found 127");
  EXPECT_EQ(error("dim=1e9,base=10000,ctx=4k"), "dim: expected an even number between 2 and 8192, found 1e9");
  EXPECT_EQ(error("dim=128,base=1,ctx=4k"), "base: expected a base above 1 and up to 1e15, found 1");
  EXPECT_EQ(error("dim=128,base=x,ctx=4k"), "base: expected a number, found \"x\"");
  EXPECT_EQ(error("dim=128,dim=64,base=1e4,ctx=4k"), "dim: given twice");
  EXPECT_EQ(error("dim=128,base=1e4,ctx=5"), "ctx: expected a length between 7 and 2^40 tokens, found 5");
  EXPECT_EQ(error("dims=128"),
            "unknown key \"dims\" (known: dim, base, ctx, name, scaling, scaling_factor, scaling_ctx)");
  EXPECT_EQ(error("128"), "expected key=value parts such as dim=128,base=10000,ctx=4096, found \"128\"");
  EXPECT_EQ(error("dim=128,base=1e4,ctx=4k,scaling=llama3"),
            "scaling: a scaling of the model's own needs all of scaling, scaling_factor and scaling_ctx");
  EXPECT_EQ(error("dim=128,base=1e4,ctx=4k,scaling=llama3,scaling_factor=8,scaling_ctx=8k"),
            "scaling_ctx: expected a length between 1 and the trained 4096 tokens, found 8192");
}

TEST(SpecCheck, RejectsImpossibleGroups) {
  RopeSpec s = test::gemma3_spec();
  EXPECT_TRUE(check_spec(s));
  s.groups[1].layers = {3, 3};
  EXPECT_EQ(check_spec(s).error().where, "groups[1].layers");
  s = test::gemma3_spec();
  s.groups[0].extended = false;
  EXPECT_EQ(check_spec(s).error().where, "groups[0].extended");
  s.groups.clear();
  EXPECT_EQ(check_spec(s).error().where, "groups");
}

// Llama 3.1's rope_freqs: 1 for fast pairs, 8 for slow ones. Values of pairs 28 … 30 as transformers computes them.
TEST(TrainedTable, OfLlama31IsItsLlama3Scaling) {
  const Table t = trained_table(test::llama31_spec(), 0);
  EXPECT_EQ(t.pair_factors.front(), 1);
  EXPECT_EQ(t.pair_factors.back(), 8);
  EXPECT_EQ(t.attention_scale, 1);
  EXPECT_EQ(t, table(plain_spectrum(128, 500000, 8192), 8, Llama3{}));
}

TEST(TrainedTable, OfLongRopeIsTheLongListAtTheTrainedLength) {
  RopeSpec s{.context_trained = 131072, .groups = {{.rotary_dim = 4, .base = 10000}}};
  s.groups[0].trained = TrainedScaling{.method = LongRope{{1, 1}, {2, 3}}, .factor = 32, .context_original = 4096};
  ASSERT_TRUE(check_spec(s));
  const Table t = trained_table(s, 0);
  EXPECT_EQ(t.pair_factors, (std::vector<double>{2, 3}));
  EXPECT_DOUBLE_EQ(t.attention_scale, std::sqrt(1 + std::log(32) / std::log(4096)));
}

TEST(SpecText, ATrainedScalingHasOneFactor) {
  EXPECT_TRUE(parse_spec("dim=128,base=10000,ctx=8k,scaling=yarn,scaling_factor=2,scaling_ctx=4k"));
  EXPECT_FALSE(parse_spec("dim=128,base=10000,ctx=8k,scaling=yarn:factor=3,scaling_factor=2,scaling_ctx=4k"));
}

}  // namespace
}  // namespace mrrope

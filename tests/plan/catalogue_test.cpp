// SPDX-License-Identifier: MIT
#include "mrrope/catalogue.h"

#include <gtest/gtest.h>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

TEST(MethodText, SpellingReadsBackAsTheSameMethod) {
  for (const char* text :
       {"none", "linear", "abf:base=1000000", "yarn:beta_fast=16:truncate=false", "mrrope-power:p=-0.5:low=3:high=40",
        "longrope:short_factors=1/1:long_factors=2/3.5", "custom:factors=1/1.5/2:attention_scale=1.1",
        "mrrope-pro+cope:pairs=20+resonance", "ntk+clip:keep=10", "llama3:high_freq_factor=8",
        "mrrope-power:p=1.15:low=1:high=20:attention_scale=1.16:factor=14.07", "linear:factor=3+resonance"}) {
    EXPECT_EQ(spell(test::method(text)), text);
  }
}

TEST(MethodText, LeavesOutDefaults) {
  EXPECT_EQ(spell(test::method("yarn:beta_fast=32:truncate=true")), "yarn");
  EXPECT_EQ(spell(MrRopePro{}), "mrrope-pro");
}

TEST(Brief, ShowsLongListsByTheirEnds) {
  EXPECT_EQ(brief(test::method("custom:factors=1/1.5/2/3")), "custom:factors=1/1.5/2/3");
  EXPECT_EQ(brief(test::method("custom:factors=1/1.5/2/3/4+cope")), "custom:factors=1/../4+cope (5 numbers)");
}

TEST(MethodText, AliasesAndModifiersAlone) {
  EXPECT_EQ(spell(test::method("pi")), "linear");
  EXPECT_EQ(spell(test::method("freq-base:base=1e6")), "abf:base=1000000");
  EXPECT_EQ(spell(test::method("cope")), "none+cope");
  EXPECT_EQ(spell(test::method("dynamic")), "dynamic-ntk");
}

TEST(MethodText, NamesInAnyCase) {
  EXPECT_EQ(spell(test::method("YaRN:beta_fast=16")), "yarn:beta_fast=16");
  EXPECT_EQ(spell(test::method("MrRoPE-Pro+CoPE")), "mrrope-pro+cope");
  EXPECT_EQ(spell(test::method("PI")), "linear");
  EXPECT_EQ(spell(test::method("NTK-aware")), "ntk");
  EXPECT_EQ(to_string(parse_method("YARM").error()),
            "unknown method \"YARM\"; did you mean yarn? (mrrope methods lists all)");
}

TEST(MethodText, PlusInsideANumberIsNoSeparator) {
  EXPECT_EQ(spell(test::method("abf:base=1e+6+cope")), "abf:base=1000000+cope");
}

TEST(MethodText, ErrorsTeach) {
  const auto error = [](const char* text) { return to_string(parse_method(text).error()); };
  EXPECT_EQ(error("yarm"), "unknown method \"yarm\"; did you mean yarn? (mrrope methods lists all)");
  EXPECT_EQ(error("linear:x=1"), "linear: unknown parameter \"x\" (it has attention_scale, factor)");
  EXPECT_EQ(error("llama3:low_freq=1"),
            "llama3: unknown parameter \"low_freq\" (it has low_freq_factor, high_freq_factor, attention_scale, "
            "factor)");
  EXPECT_EQ(error("yarn:truncate=1"), "yarn.truncate: expected true or false, found \"1\"");
  EXPECT_EQ(error("yarn:beta_fast"), "yarn: expected key=value, found \"beta_fast\"");
  EXPECT_EQ(error("clip:keep=1.5"), "clip.keep: expected a pair number or auto, found \"1.5\"");
  EXPECT_EQ(error("yarn+linear"), "\"linear\" makes a table of its own; only cope, clip and resonance can follow +");
}

TEST(MethodText, HostileTextIsAnErrorNotACrash) {
  for (const std::string text :
       {"", "+", ":", "=", "yarn:", "yarn:=", "yarn::", "+cope", "cope+", "custom:factors=", "custom:factors=//",
        "abf:base=", "yarn:low=99999999999999999999", "\xff\xfe", "a+b+c"}) {
    EXPECT_FALSE(parse_method(text)) << text;
  }
  EXPECT_FALSE(parse_method(std::string(1 << 20, 'a')));
}

TEST(MethodCheck, NamesTheFieldAndItsRange) {
  const auto error = [](const char* text) { return to_string(check_method(test::method(text), 64).error()); };
  EXPECT_EQ(error("abf"), "params.base: missing: the new base b'");
  EXPECT_EQ(error("yarn:beta_fast=0"), "params.beta_fast: expected a value between 1e-06 and 1e+09, found 0");
  EXPECT_EQ(error("yarn:beta_fast=1:beta_slow=2"), "params.beta_fast: expected at least as many turns as beta_slow");
  EXPECT_EQ(error("mrrope-pro:low=40:high=20"), "params.low: expected a pair at or below high");
  EXPECT_EQ(error("custom:factors=1/2"), "params.factors: expected 64 factors, one per rotated pair, found 2");
  EXPECT_EQ(error("none+cope:pairs=65"), "modifiers[0].params.pairs: expected at most the 64 rotated pairs");
  EXPECT_EQ(error("none:attention_scale=0"),
            "params.attention_scale: expected a value between 1e-06 and 1000000, found 0");
  EXPECT_EQ(error("yarn:factor=0.5"), "params.factor: expected a value between 1 and 1048576, found 0.5");
  EXPECT_EQ(error("abf:base=20000:factor=2"), "params.factor: the table of this method has no factor in it");
}

TEST(Catalogue, EveryEntryIsCompleteAndParses) {
  for (const MethodInfo& info : method_catalogue()) {
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.formula.empty()) << info.name;
    EXPECT_TRUE(info.equation.starts_with("[T")) << info.name;
    EXPECT_TRUE(parse_method(info.name)) << info.name;
    for (const std::string_view alias : info.aliases) EXPECT_TRUE(parse_method(alias)) << alias;
  }
}

}  // namespace
}  // namespace mrrope

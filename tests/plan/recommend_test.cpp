// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/specs.h"

namespace mrrope {
namespace {

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(Recommend, NothingWhereTheModelAlreadyReaches) {
  const Plan plan = *recommend(test::llama2_spec(), 4096);
  EXPECT_EQ(plan.method, Method{None{}});
  EXPECT_TRUE(mentions(explain(plan).reasons, "need no extension"));
  EXPECT_TRUE(mentions(explain(plan).reasons, "Short prompts see the trained table"));
  EXPECT_TRUE(explain(plan).cautions.empty());
}

TEST(Recommend, ProgressiveConversionAtTheSmallestSufficientFactor) {
  const Plan plan = *recommend(test::llama2_spec(), 10000);
  EXPECT_EQ(plan.method, Method{MrRopePro{}});
  EXPECT_DOUBLE_EQ(plan.factor, 10000.0 / 4096);
  const Explanation why = explain(plan);
  EXPECT_TRUE(mentions(why.reasons, "smallest that covers 10000 tokens"));
  EXPECT_TRUE(mentions(why.reasons, "Drift: within the trained 4096 tokens"));
  EXPECT_TRUE(mentions(why.reasons, "No pair meets an angle"));
}

TEST(Explain, WarnsOfUnseenAngles) {
  const Plan plan = *make_plan(test::llama2_spec(), 65536, None{});
  EXPECT_TRUE(mentions(explain(plan).cautions, "18 pairs meet angles up to 16 times beyond training"));
}

// Angles are unseen by the length of the text, not by the factor of the table.
TEST(Explain, TellsAFactorOfTheMethodFromTheTargets) {
  const Explanation why = explain(*make_plan(test::llama2_spec(), 65536, test::method("mrrope-pro:factor=8")));
  EXPECT_TRUE(mentions(why.reasons, "asks for a table of factor 8; 65536 tokens from 4096 are 16."));
  EXPECT_TRUE(mentions(why.cautions, "18 pairs meet angles up to 2"));
}

TEST(Explain, WarnsBeyondWhatWasMeasured) {
  EXPECT_TRUE(mentions(explain(*recommend(test::llama2_spec(), 1 << 20)).cautions, "Beyond 16x"));
  EXPECT_FALSE(mentions(explain(*recommend(test::llama2_spec(), 65536)).cautions, "Beyond 16x"));
}

TEST(Explain, CitesWhatWasMeasuredNearTheFactor) {
  const auto measured = [](double factor, const std::string& method) {
    const auto target = static_cast<std::int64_t>(4096 * factor);
    return explain(*make_plan(test::llama2_spec(), target, test::method(method))).measured;
  };
  EXPECT_EQ(measured(4, "mrrope-pro").rfind("Measured with plans for 4 times", 0), 0U);
  EXPECT_NE(measured(4, "mrrope-pro").find("against yarn"), std::string::npos);
  EXPECT_NE(measured(4, "yarn").find("against mrrope-pro"), std::string::npos);
  EXPECT_EQ(measured(5, "mrrope-pro").rfind("Measured with plans for 4 times", 0), 0U);
}

TEST(Explain, CountsComparisonsInWords) {
  const std::string counts =
      "(better|worse|tied)( in both comparisons| in all \\d+ comparisons| in \\d+(, (worse|tied) in \\d+)+ of \\d+ "
      "comparisons)?";
  const std::string item = "(perplexity|perplexity within the trained length|answers) " + counts;
  const std::regex sentence(
      R"(Measured with plans for \d+ times the trained length on \d+ small models?, against [a-z-]+ \(docs/results\): )" +
      item + "(; " + item + ")*\\.");
  for (const std::int64_t factor : {2, 4, 8, 16, 32, 64}) {
    for (const char* method : {"ntk", "yarn", "yarn-rotations", "mrrope-uni", "mrrope-pro"}) {
      const auto said = explain(*make_plan(test::llama2_spec(), 4096 * factor, test::method(method))).measured;
      EXPECT_TRUE(std::regex_match(said, sentence)) << said;
    }
  }
}

TEST(Explain, CitesNoMeasurementOfAnotherTable) {
  EXPECT_EQ(explain(*make_plan(test::llama2_spec(), 65536, test::method("mrrope-pro:low=3"))).measured, "");
  EXPECT_EQ(explain(*recommend(test::llama2_spec(), 4096)).measured, "");
}

TEST(Explain, SpeaksOfTheModelsOwnScalingAndOfSlidingLayers) {
  EXPECT_TRUE(mentions(explain(*recommend(test::llama31_spec(), 262144)).reasons, "own scaling (llama3)"));
  EXPECT_TRUE(mentions(explain(*recommend(test::gemma3_spec(), 262144)).reasons, "\"sliding\""));
}

TEST(Explain, WarnsWhenTheBandEndsBeyondTheLastPair) {
  const RopeSpec phi = test::spec("dim=96,base=10000,ctx=128k");
  EXPECT_TRUE(mentions(explain(*recommend(phi, 524288)).cautions, "beyond the last pair 47"));
}

}  // namespace
}  // namespace mrrope

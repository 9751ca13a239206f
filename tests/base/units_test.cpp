// SPDX-License-Identifier: MIT
#include "mrrope/units.h"

#include <gtest/gtest.h>

namespace mrrope {
namespace {

TEST(Context, ReadsWhatPeopleType) {
  EXPECT_EQ(*parse_context("32768"), 32768);
  EXPECT_EQ(*parse_context("32k"), 32768);
  EXPECT_EQ(*parse_context("32K"), 32768);
  EXPECT_EQ(*parse_context("1M"), 1048576);
  EXPECT_EQ(*parse_context("16m"), 16777216);
  EXPECT_EQ(*parse_context("1.5k"), 1536);
}

TEST(Context, RejectsWhatIsNoWholeNumberOfTokens) {
  for (const char* text :
       {"", "k", "0", "-4k", "1.3", "4kk", "4 k", "0x10", "1e99", "nan", "inf", "1T", "2000G", "4k\n"}) {
    EXPECT_FALSE(parse_context(text)) << text;
  }
}

TEST(Context, FormatReadsBackExactly) {
  for (const std::int64_t tokens : {1L, 1023L, 1024L, 5000L, 32768L, 131072L, 1048576L, 16777216L, 1572864L}) {
    EXPECT_EQ(*parse_context(format_context(tokens)), tokens);
  }
  EXPECT_EQ(format_context(65536), "64k");
}

TEST(Number, ShortestTextReadsBackBitForBit) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 10000.0, 5e5, 1e30, 1e-30, 1.2772588722239782, 123456789.123, 1e9}) {
    EXPECT_EQ(*parse_number(format_number(value)), value) << format_number(value);
  }
  EXPECT_EQ(format_number(10000), "10000");
  EXPECT_EQ(format_number(0.1), "0.1");
}

TEST(Number, RejectsTrailingTextAndInfinity) {
  for (const char* text : {"1x", "", " 1", "inf", "nan", "1e999", "--1"}) EXPECT_FALSE(parse_number(text)) << text;
}

TEST(ErrorText, NamesThePlaceFirst) {
  EXPECT_EQ(to_string(Error{ErrorCode::malformed, "expected a number", "band.low"}), "band.low: expected a number");
  EXPECT_EQ(to_string(Error{ErrorCode::io, "no such file", ""}), "no such file");
  EXPECT_STREQ(to_string(ErrorCode::inconsistent), "inconsistent");
}

}  // namespace
}  // namespace mrrope

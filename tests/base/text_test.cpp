// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gtest/gtest.h>

namespace mrrope::base {
namespace {

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(ShellQuoted, LeavesPlainWordsAlone) {
  EXPECT_EQ(shell_quoted("models/Qwen3-8B_q4.gguf"), "models/Qwen3-8B_q4.gguf");
  EXPECT_EQ(shell_quoted("dim=128,base=1e+4"), "dim=128,base=1e+4");
}

TEST(ShellQuoted, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_quoted("my model.gguf"), "'my model.gguf'");
  EXPECT_EQ(shell_quoted("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_quoted("~x"), "'~x'");
  EXPECT_EQ(shell_quoted("größer"), "'größer'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(Printable, LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(printable("\x1b[31mevil\nline2\x07"), "?[31mevil?line2?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "??31m");  // U+009B is an escape and a bracket
  EXPECT_EQ(printable("größer \xff"), "größer ?");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

TEST(Nearest, FindsTypingErrors) {
  const std::vector<std::string_view> names = {"yarn", "linear", "mrrope-pro", "plan"};
  EXPECT_EQ(nearest("yarm", names), "yarn");
  EXPECT_EQ(nearest("plna", names), "plan");
  EXPECT_EQ(nearest("mrope-pro", names), "mrrope-pro");
}

TEST(Nearest, DoesNotGuessWildly) {
  const std::vector<std::string_view> names = {"yarn", "linear"};
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(nearest("quadratic", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'y'), names), "");
}

}  // namespace
}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gtest/gtest.h>

namespace mrrope::base {
namespace {

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
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

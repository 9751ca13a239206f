// SPDX-License-Identifier: MIT
#include "deploy/quote.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mrrope::deploy {
namespace {

const char* const kNasty = "a \"b\" 'c' $HOME $(x) ${y} %i #d: \\ \t\n\xC3\xA9 - {[,]}";

// Every JSON string is one of YAML, and reads back as it was.
TEST(Quote, OfYamlReadsBackAndIsOneLineOfAscii) {
  const std::string quoted = yaml_quoted(kNasty);
  EXPECT_EQ(nlohmann::json::parse(quoted), kNasty);
  for (const char c : quoted) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << static_cast<int>(c);
  EXPECT_EQ(yaml_quoted("\xff"), "\"\\ufffd\"");
}

TEST(Quote, OfComposeAndKubernetesLetsNoVariableThrough) {
  EXPECT_EQ(nlohmann::json::parse(compose_quoted("$HOME ${y} $$")), "$$HOME $${y} $$$$");
  EXPECT_EQ(nlohmann::json::parse(kubernetes_quoted("$HOME $(x) $$(z)")), "$HOME $$(x) $$$(z)");
}

TEST(Quote, OfSystemdEscapesItsSpecifiersAndVariables) {
  EXPECT_EQ(systemd_quoted("/srv/a b\"c\\d%i$e"), "\"/srv/a b\\\"c\\\\d%%i$$e\"");
}

TEST(Quote, OfAShellIsOneWord) {
  EXPECT_EQ(shell_word("plain-1.0/x"), "plain-1.0/x");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(PlainName, IsANameOfKubernetes) {
  EXPECT_EQ(plain_name("SmolLM2 135M (Instruct)"), "smollm2-135m-instruct");
  EXPECT_EQ(plain_name("--a__b--"), "a-b");
  EXPECT_EQ(plain_name("\xC3\xA9\n"), "model");
  EXPECT_EQ(plain_name(""), "model");
  EXPECT_EQ(plain_name(std::string(39, 'a') + "-b"), std::string(39, 'a'));
  EXPECT_EQ(plain_name(std::string(99, 'a')).size(), 40U);
}

}  // namespace
}  // namespace mrrope::deploy

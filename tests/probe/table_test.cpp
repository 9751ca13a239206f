// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "mrrope/catalogue.h"
#include "mrrope/probe.h"

namespace mrrope::probe {
namespace {

Suspect suspect_of(const char* method, double factor, const char* name) {
  const RopeSpec spec = *parse_spec("dim=64,base=10000,ctx=512");
  return {name, *make_plan(spec, std::llround(512 * factor), *parse_method(method))};
}

const Suspect kPlain = suspect_of("none", 1, "none");
const Suspect kYarn = suspect_of("yarn", 4, "yarn x4");
const Suspect kPro = suspect_of("mrrope-pro", 4, "mrrope-pro x4");

TableVerdict verdict_of(TableVerdict::Kind kind, const Suspect& best) {
  TableVerdict verdict;
  verdict.kind = kind;
  verdict.name = best.name;
  verdict.plan = best.plan;
  return verdict;
}

std::string codes(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += (text.empty() ? "" : " ") + finding.code;
  return text;
}

using Kind = TableVerdict::Kind;

TEST(TableFindings, OfTheTableThatShouldBeServedAreNone) {
  EXPECT_EQ(codes(table_findings(verdict_of(Kind::named, kPro), {.table = kPro, .by = "f", .trained = 512})), "");
  EXPECT_EQ(codes(table_findings(verdict_of(Kind::named, kYarn), {.trained = 512, .served = 2048})), "");
  EXPECT_TRUE(is_named(verdict_of(Kind::named, kPro), kPro.plan));
}

TEST(TableFindings, TakeEveryFactorThatExplainsTheServerForTheExpectedOne) {
  TableVerdict verdict = verdict_of(Kind::named, suspect_of("yarn", 3.6, "yarn x3.6"));
  verdict.factor_low = 3.5;
  verdict.factor_high = 4.2;
  EXPECT_TRUE(is_named(verdict, kYarn.plan));
  EXPECT_EQ(codes(table_findings(verdict, {.table = kYarn, .by = "f", .trained = 512})), "");
  EXPECT_FALSE(is_named(verdict, kPro.plan));
  EXPECT_FALSE(is_named(verdict, suspect_of("yarn:attention_scale=1.3", 4, "yarn x4").plan));
  verdict.factor_high = 3.8;
  EXPECT_FALSE(is_named(verdict, kYarn.plan));
  EXPECT_EQ(codes(table_findings(verdict, {.table = kYarn, .by = "f", .trained = 512})), "P200");
}

TEST(TableFindings, SayWhichTableIsServedInsteadOfWhich) {
  const std::vector<Finding> found =
      table_findings(verdict_of(Kind::named, kPlain), {.table = kPro, .by = "x.gguf", .trained = 512, .served = 2048});
  ASSERT_EQ(codes(found), "P200");
  EXPECT_EQ(found[0].severity, Severity::error);
  EXPECT_EQ(found[0].message, "the server runs the plain table; x.gguf says mrrope-pro x4");
}

TEST(TableFindings, OfThePlainTableDependOnTheLengthThatIsServed) {
  const TableVerdict plain = verdict_of(Kind::named, kPlain);
  EXPECT_EQ(codes(table_findings(plain, {.trained = 512, .served = 513})), "P201");
  EXPECT_EQ(codes(table_findings(plain, {.trained = 512, .served = 512})), "");
  EXPECT_EQ(codes(table_findings(plain, {.trained = 512})), "");
}

TEST(TableFindings, OfAScaleAreAgainstTheExpectedOneAndElseAgainstTheMethods) {
  Suspect scaled = suspect_of("yarn:attention_scale=1.3", 4, "yarn x4");
  TableVerdict verdict = verdict_of(Kind::named, scaled);
  verdict.scale_off = 1.3 / kYarn.plan.groups[0].attention_scale - 1;
  EXPECT_EQ(codes(table_findings(verdict, {.trained = 512})), "P202");
  EXPECT_EQ(codes(table_findings(verdict, {.table = kYarn, .by = "f", .trained = 512})), "P202");
  EXPECT_EQ(codes(table_findings(verdict, {.table = scaled, .by = "f", .trained = 512})), "");
  EXPECT_FALSE(is_named(verdict, kYarn.plan));
  EXPECT_TRUE(is_named(verdict, scaled.plan));
}

TEST(TableFindings, OfATieContradictOnlyATableThatIsOut) {
  TableVerdict verdict = verdict_of(Kind::tied, kYarn);
  verdict.tied = {"mrrope-pro x4"};
  verdict.rivals = {{kYarn, 1e-5, 1, false}, {kPro, 1e-5, 1.1, false}, {kPlain, 1e-2, 900, true}};
  EXPECT_EQ(table_words(verdict), "yarn x4 or mrrope-pro x4");
  EXPECT_EQ(codes(table_findings(verdict, {.table = kPro, .by = "f", .trained = 512})), "P204");
  EXPECT_EQ(codes(table_findings(verdict, {.table = kPlain, .by = "f", .trained = 512})), "P200 P204");
  EXPECT_FALSE(is_named(verdict, kYarn.plan)) << "a tie is not enough";
}

TEST(TableFindings, NameNothingWhereNothingIsTold) {
  TableVerdict verdict = verdict_of(Kind::none, kYarn);
  EXPECT_EQ(codes(table_findings(verdict, {.trained = 512})), "P205");
  EXPECT_EQ(codes(table_findings(verdict, {.table = kYarn, .by = "f", .trained = 512})), "P200 P205");
  EXPECT_FALSE(is_named(verdict, kYarn.plan));
  EXPECT_EQ(codes(table_findings({}, {.table = kYarn, .by = "f", .trained = 512, .served = 2048})), "P203");
}

}  // namespace
}  // namespace mrrope::probe

// SPDX-License-Identifier: MIT
#include "mrrope/report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/report/pictures.h"
#include "tests/report/runs.h"
#include "tests/support/temporary_folder.h"

namespace mrrope {
namespace {

using test::find;
using test::needle_run;
using test::ppl_run;
using test::TemporaryFolder;

class Reports : public testing::Test {
 protected:
  // One page of both kinds of runs.
  Result<Report> both() {
    ppl_run(folder_.path("ppl"));
    needle_run(folder_.path("niah"));
    const std::vector<std::string> runs = {folder_.path("ppl"), folder_.path("niah")};
    return make_report(runs);
  }
  TemporaryFolder folder_;
};

TEST_F(Reports, SpecificationsAreThoseInTheTree) {
  const Result<Report> report = both();
  ASSERT_TRUE(report) << to_string(report.error());
  ASSERT_EQ(report->pictures.size(), 12U);
  for (const Picture& picture : report->pictures) test::expect_golden(picture);
}

TEST_F(Reports, TheSameRecordsGiveTheSameBytes) {
  const Result<Report> first = both();
  const std::vector<std::string> runs = {folder_.path("ppl"), folder_.path("niah")};
  const Result<Report> again = make_report(runs);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->html, again->html);
}

TEST_F(Reports, ARecordThatTwoRunsHaveCountsOnce) {
  const Result<Report> once = both();
  const std::vector<std::string> runs = {folder_.path("niah"), folder_.path("ppl"), folder_.path("niah")};
  const Result<Report> twice = make_report(runs);
  ASSERT_TRUE(once && twice);
  EXPECT_EQ(once->records, twice->records);
  EXPECT_EQ(find(*once, "needles")->csv, find(*twice, "needles")->csv);
}

TEST_F(Reports, TheVerdictSaysWhatTheNumbersSay) {
  const Result<Report> report = both();
  ASSERT_TRUE(report);
  // Scores first: 12 of 12 against 6 of 12 and 0 of 12 at 2k
  EXPECT_EQ(report->verdict.at(0),
            "mrrope-pro x4 scores highest at 2k: 100.0 % (niah). Every other plan is lower, on the same samples.");
  EXPECT_EQ(
      report->verdict.at(1),
      "Effective length, the longest above RULER's 85.6 %: none 512 (not sure of it); yarn x4 1k (not sure of it); "
      "mrrope-pro x4 2k (not sure of it).");
  // yarn and mrrope-pro differ by 1e-4 nats here and there: tied
  EXPECT_EQ(report->verdict.at(2),
            "yarn x4 has the lowest perplexity at 2k: 3.857. Paired over 4 texts, it is tied with mrrope-pro x4.");
  EXPECT_NE(report->verdict.at(3).find("breaks beyond its trained 512 tokens"), std::string::npos);
}

// An easy text more makes the mean lower, not the plan better.
TEST_F(Reports, TheBestIsJudgedOnTheTextsThatBothHave) {
  {
    Result<eval::RunFolder> run = eval::RunFolder::open(folder_.path("ppl"), test::run_info("ppl", "model.gguf"));
    ASSERT_TRUE(run) << to_string(run.error());
    const auto add = [&](const std::string& method, int text, double nll) {
      eval::Record r;
      r.task = "ppl";
      r.method = method;
      r.factor = 4;
      r.document = r.document_hash = fmt::format("text {}", text);
      r.key = eval::content_hash(r.document + method);
      r.reading()->points = {{2048, 2047, 2047 * nll}};
      ASSERT_TRUE(run->append(r));
    };
    for (int text = 0; text < 4; ++text) {
      add("yarn", text, 2 + 0.1 * text);
      add("mrrope-pro", text, 1.97 + 0.101 * text);
    }
    add("yarn", 4, 0.5);
    add("ntk", 5, 3);
  }
  const std::vector<std::string> runs = {folder_.path("ppl")};
  const Result<Report> report = make_report(runs);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(
      report->verdict.at(0),
      "yarn x4 has the lowest perplexity at 2k: 6.172. On the texts that both have, mrrope-pro x4 is lower. Of ntk "
      "x4 other texts were measured.");
}

TEST_F(Reports, APlanThatLacksATaskIsNotRanked) {
  needle_run(folder_.path("niah"));
  {
    Result<eval::RunFolder> more = eval::RunFolder::open(folder_.path("niah"), test::run_info("niah", "model.gguf"));
    ASSERT_TRUE(more) << to_string(more.error());
    for (const std::string method : {"none", "yarn"}) {  // not mrrope-pro, which finds every needle
      for (std::int64_t i = 0; i < 12; ++i) {
        const eval::Record r = test::answer_record({.task = "vt",
                                                    .method = method,
                                                    .factor = method == "none" ? 1.0 : 4.0,
                                                    .length = 2048,
                                                    .index = i,
                                                    .score = 0.5});
        ASSERT_TRUE(more->append(r));
      }
    }
  }
  const std::vector<std::string> runs = {folder_.path("niah")};
  const Result<Report> report = make_report(runs);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_NE(report->verdict.at(0).find("yarn x4 scores highest at 2k: 50.0 % (mean of 2 tasks)"), std::string::npos)
      << report->verdict.at(0);
  EXPECT_NE(report->verdict.at(1).find("no length for none, yarn x4 and mrrope-pro x4"), std::string::npos)
      << report->verdict.at(1);
  EXPECT_EQ(find(*report, "scores")->csv.find("mrrope-pro x4,2048"), std::string::npos);
}

TEST_F(Reports, TheEdgesOfABandAreReadOffTheTable) {
  const Result<Report> report = both();
  ASSERT_TRUE(report);
  const Picture* high = find(*report, "band-high");
  ASSERT_NE(high, nullptr);
  EXPECT_NE(high->csv.find("\nmrrope-pro,mrrope-pro:high=9 x4,9,1,2048,"), std::string::npos) << high->csv;
  EXPECT_NE(high->caption.find("d_h = "), std::string::npos);
}

// Such a plan's end of the band was looked for by the factor of its length, and not found.
TEST_F(Reports, TheEdgesOfABandAreThoseOfATableWithAFactorOfItsOwn) {
  ppl_run(folder_.path("ppl"), "model.gguf",
          {"none", "mrrope-pro:high=9:factor=3", "mrrope-pro:high=10:factor=3", "mrrope-pro:high=11:factor=3"});
  const std::vector<std::string> runs = {folder_.path("ppl")};
  const Result<Report> report = make_report(runs);
  ASSERT_TRUE(report) << to_string(report.error());
  const Picture* high = find(*report, "band-high");
  ASSERT_NE(high, nullptr);
  for (const int edge : {9, 10, 11}) {
    const std::string row = fmt::format("\nmrrope-pro:factor=3,mrrope-pro:high={0}:factor=3 x4,{0},1,2048,", edge);
    EXPECT_NE(high->csv.find(row), std::string::npos) << high->csv;
  }
}

// Tables of a search differ in everything at once.
TEST_F(Reports, SettingsThatDifferInMoreThanTheirEdgesAreNoCurve) {
  ppl_run(folder_.path("ppl"), "model.gguf",
          {"none", "mrrope-power:p=2:high=9", "mrrope-power:p=3:high=10", "mrrope-power:p=2:high=11:factor=3",
           "mrrope-power:p=2:high=10:attention_scale=1.1"});
  const std::vector<std::string> runs = {folder_.path("ppl")};
  const Result<Report> report = make_report(runs);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(find(*report, "band-high"), nullptr);
}

TEST_F(Reports, TextsStayText) {
  const std::string hostile = "</script><script>alert(1)</script><b>\"'&";
  ppl_run(folder_.path("ppl"), hostile);
  const std::vector<std::string> runs = {folder_.path("ppl")};
  const Result<Report> report = make_report(runs);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(report->html.substr(0, report->html.find("<script>")).find("<b>"), std::string::npos);  // before Vega
  EXPECT_NE(report->html.find("&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
}

TEST_F(Reports, APageLoadsNothing) {
  const Result<Report> report = both();
  ASSERT_TRUE(report);
  EXPECT_NE(report->html.find("default-src 'none'"), std::string::npos);
  for (const char* loads : {"<link", "<img", "<iframe", " src=", "@import", "url("}) {
    // Vega's own text is not markup: the page in front of it, and after it
    const std::string page = report->html.substr(0, report->html.find("<script>"));
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  }
}

TEST_F(Reports, MistakesAreSaid) {
  const std::vector<std::string> nowhere = {folder_.path("nowhere")};
  EXPECT_FALSE(make_report(nowhere));
  ppl_run(folder_.path("ppl"));
  const std::vector<std::string> runs = {folder_.path("ppl")};
  const Result<Report> unknown = make_report(runs, {.baseline = "ntk"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().option, "baseline");
  needle_run(folder_.path("other"), "another model");
  const std::vector<std::string> two = {folder_.path("ppl"), folder_.path("other")};
  const Result<Report> mixed = make_report(two);
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("one page is about one model"), std::string::npos);
}

TEST_F(Reports, APlanFileIsAPageOfItsOwn) {
  const Result<RopeSpec> spec = parse_spec("dim=64,base=10000,ctx=512");
  ASSERT_TRUE(spec);
  const Result<Plan> plan = make_plan(*spec, 2048, MrRopePro{});
  ASSERT_TRUE(plan);
  std::ofstream(folder_.path("plan.json")) << to_json(*plan);
  const std::vector<std::string> runs = {folder_.path("plan.json")};
  const Result<Report> report = make_report(runs);
  ASSERT_TRUE(report) << to_string(report.error());
  ASSERT_EQ(report->pictures.size(), 5U);
  EXPECT_EQ(report->pictures[0].name, "plan-scale");
}

}  // namespace
}  // namespace mrrope

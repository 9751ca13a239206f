// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "mrrope/report.h"
#include "tests/report/pictures.h"
#include "tests/report/tune_example.h"
#include "tests/support/temporary_folder.h"

namespace mrrope {
namespace {

using base::Json;
using test::find;
using test::tune_example;

class TunePages : public testing::Test {
 protected:
  Result<Report> page_of(const Json& tune) {
    const std::string folder = folder_.path(fmt::format("tuned-{}", ++pages_));
    test::tune_run(folder, tune);
    const std::vector<std::string> runs = {folder};
    return make_report(runs);
  }
  std::string verdict_of(const Json& tune) {
    const Result<Report> report = page_of(tune);
    return report ? report->verdict.at(0) : to_string(report.error());
  }

 private:
  test::TemporaryFolder folder_;
  int pages_ = 0;
};

TEST_F(TunePages, SpecificationsAreThoseInTheTree) {
  const Result<Report> report = page_of(tune_example());
  ASSERT_TRUE(report) << to_string(report.error());
  for (const char* name : {"tune-search", "tune-front"}) {
    const Picture* picture = find(*report, name);
    ASSERT_NE(picture, nullptr) << name;
    test::expect_golden(*picture);
  }
}

TEST_F(TunePages, TheVerdictComesFirst) {
  EXPECT_EQ(verdict_of(tune_example()),
            "The tuned plan (tuned-0a53) is better than mrrope-pro, the best published method here: on 4 texts and 12 "
            "prompts that the search had not seen, its perplexity is 3.6 ± 0.6 % lower at 2k and 6.3 ± 2.5 % lower "
            "within 512 tokens; right answers are 0.030 ± 0.018 nats per token likelier and scores are no different "
            "(+1.6 ± 2.3 points).");
}

TEST_F(TunePages, AVerdictAgainstWhatWasFoundSaysWhy) {
  Json no_better = tune_example();
  no_better["recommended"] = "mrrope-pro";
  no_better["held_out_texts"] = 1;
  no_better["held_out_prompts"] = 0;
  Json& differences = no_better["verdict"];
  differences[0].update(Json{{"difference", -0.001}, {"low", -0.002}, {"high", 0.0}, {"better", false}});
  differences[1].update(
      Json{{"difference", 0.005}, {"low", 0.003}, {"high", 0.007}, {"better", false}, {"worse", true}});
  differences.erase(2);
  differences.erase(2);
  EXPECT_EQ(
      verdict_of(no_better),
      "Nothing better than mrrope-pro was found: the best table of the search (tuned-0a53) does not beat it. On 1 "
      "text that the search had not seen, its perplexity is no different (-0.1 ± 0.1 %) at 2k and 0.5 ± 0.2 % "
      "higher within 512 tokens.");

  Json answers = tune_example();
  answers["recommended"] = "mrrope-pro";
  answers["verdict"][2].update(
      Json{{"difference", 0.1}, {"low", 0.05}, {"high", 0.15}, {"better", false}, {"worse", true}});
  EXPECT_EQ(verdict_of(answers).substr(0, 100),
            std::string("mrrope-pro stays: the best table of the search (tuned-0a53) is better at texts and worse at "
                        "answers. On 4 texts")
                .substr(0, 100));
  EXPECT_NE(verdict_of(answers).find("right answers are 0.100 ± 0.050 nats per token less likely"), std::string::npos);
}

TEST_F(TunePages, ASearchThatFindsNothingSaysSo) {
  Json json = tune_example();
  json["tuned"] = json["label"] = json["recommended"] = "mrrope-pro";
  json["search"].erase(3);
  json["search"].erase(3);
  json["search"].erase(3);
  json["verdict"].erase(4);
  json["verdict"].erase(4);
  json["built_in_texts"] = true;
  const Result<Report> report = page_of(json);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->verdict.at(0),
            "Nothing better than mrrope-pro was found: of 13 tables none has a lower loss on the tuning texts.");
  EXPECT_EQ(report->verdict.at(1),
            "It was tuned on built-in prose; texts of your own say more about what your model will read.");
  EXPECT_TRUE(find(*report, "tune-search")
                  ->caption.starts_with("After 13 tables (3 of them on everything) the search had found none below "
                                        "mrrope-pro, the best published method on the tuning texts."))
      << find(*report, "tune-search")->caption;
  EXPECT_EQ(report->html.find("id=\"tune-verdict\""), std::string::npos);  // against itself
}

TEST_F(TunePages, TheSearchSaysHowFarItCame) {
  const Result<Report> report = page_of(tune_example());
  ASSERT_TRUE(report) << to_string(report.error());
  // e^-0.035 = 0.9656
  EXPECT_TRUE(find(*report, "tune-search")
                  ->caption.starts_with(
                      "After 13 tables (6 of them on everything) the search was 3.4 % below mrrope-pro, the best "
                      "published method on the tuning texts; the last improvement came after 240 thousand of 330 "
                      "thousand tokens."))
      << find(*report, "tune-search")->caption;
}

TEST_F(TunePages, ASearchThatStillFallsSaysSo) {
  Json json = tune_example();
  json["search"].erase(5);
  const Result<Report> report = page_of(json);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_NE(
      find(*report, "tune-search")->caption.find("; the last table was the best, and more minutes may find more."),
      std::string::npos)
      << find(*report, "tune-search")->caption;
}

TEST_F(TunePages, TheFrontSaysWhatEachSideCosts) {
  const Result<Report> report = page_of(tune_example());
  ASSERT_TRUE(report) << to_string(report.error());
  // e^(1.51 - 1.49) = 1.0202, e^(2.80 - 2.24) = 1.7507
  EXPECT_TRUE(find(*report, "tune-front")
                  ->caption.starts_with("There is a trade-off: the table that is lowest beyond 512 tokens (tuned-0a53) "
                                        "is 2.0 % higher within them than the one that is lowest there (ntk), which is "
                                        "75.1 % higher beyond."))
      << find(*report, "tune-front")->caption;

  Json apart = tune_example();  // e^(1.52 - 1.49), e^(2.80 - 2.20), e^(1.51 - 1.49), e^(2.24 - 2.20)
  apart["search"][5]["beyond"] = 2.20;
  const Result<Report> between = page_of(apart);
  ASSERT_TRUE(between);
  EXPECT_TRUE(
      find(*between, "tune-front")
          ->caption.starts_with("There is a trade-off: the table that is lowest beyond 512 tokens is 3.0 % higher "
                                "within them than the one that is lowest there (ntk), which is 82.2 % higher "
                                "beyond. tuned-0a53, which the search chose, is 2.0 % above the lowest within "
                                "and 4.1 % beyond."))
      << find(*between, "tune-front")->caption;

  Json one = tune_example();
  one["search"][4]["within"] = 1.48;
  const Result<Report> both = page_of(one);
  ASSERT_TRUE(both);
  EXPECT_TRUE(
      find(*both, "tune-front")
          ->caption.starts_with("There is no trade-off: one table (tuned-0a53) is the lowest of all, within 512 "
                                "tokens and beyond."))
      << find(*both, "tune-front")->caption;
}

TEST_F(TunePages, TheTableOfTheVerdictIsThatOfTune) {
  const Result<Report> report = page_of(tune_example());
  ASSERT_TRUE(report) << to_string(report.error());
  const std::size_t at = report->html.find("id=\"tune-verdict\"");
  ASSERT_NE(at, std::string::npos);
  const std::string figure = report->html.substr(at, report->html.find("</figure>", at) - at);
  for (const char* part : {"<th scope=\"col\" class=\"text\">against</th><th scope=\"col\">ppl at 2k</th>"
                           "<th scope=\"col\">within 512</th><th scope=\"col\">-ln p, answers</th>"
                           "<th scope=\"col\">points</th>",
                           "<td>-3.6 ± 0.6 % *</td><td>-6.3 ± 2.5 % *</td><td>-0.030 ± 0.018 *</td><td>+1.6 ± 2.3</td>",
                           "<td>-50.0 ± 10.0 % *</td><td>+3.2 ± 0.9 % *</td><td>-</td><td>-</td>"}) {
    EXPECT_NE(figure.find(part), std::string::npos) << part << "\n" << figure;
  }
}

// The engine's own table, from the records of the verdict.
TEST_F(TunePages, PlansShowWhatWasFoundBesideTheOthers) {
  const Result<Report> report = page_of(tune_example());
  ASSERT_TRUE(report) << to_string(report.error());
  const Picture* scale = find(*report, "plan-scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_NE(scale->csv.find("\ntuned-0a53 x4,15,3\n"), std::string::npos) << scale->csv;  // factor=3
  EXPECT_NE(scale->csv.find("\nmrrope-pro x4,15,4\n"), std::string::npos) << scale->csv;
  EXPECT_NE(find(*report, "plan-lambda")->caption.find("tuned-0a53 x4 is "), std::string::npos);
  EXPECT_NE(report->html.find("Plans, below, shows what tuned-0a53 does pair by pair"), std::string::npos);
}

// All have 512 tokens, the file as it is has no more: the page said which is lowest at 512.
TEST_F(TunePages, PlansAreJudgedWhereTheyExtend) {
  const Result<Report> report = page_of(tune_example());
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(
      report->verdict.at(1),
      "tuned-0a53 x4 has the lowest perplexity at 2k: 4.953. Every other plan is higher, beyond the 95 % interval.");
}

TEST_F(TunePages, AFileAboutAnotherModelIsRefused) {
  Json json = tune_example();
  json["model_hash"] = eval::content_hash("another");
  const Result<Report> report = page_of(json);
  ASSERT_FALSE(report);
  EXPECT_TRUE(report.error().where.ends_with("tune.json")) << report.error().where;
  EXPECT_NE(report.error().message.find("model_hash"), std::string::npos);
}

TEST_F(TunePages, NamesStayText) {
  Json json = tune_example();
  json["label"] = "</script><script>alert(1)</script>";
  json["search"][3]["method"] = "<img src=x>";
  const Result<Report> report = page_of(json);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(report->html.substr(0, report->html.find("<script>")).find("<img"), std::string::npos);  // before Vega
}

}  // namespace
}  // namespace mrrope

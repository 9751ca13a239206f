// SPDX-License-Identifier: MIT
//
// Published values: read strictly, and shown beside what was measured.
#include "report/published.h"

#include <gtest/gtest.h>

#include <fstream>

#include "mrrope/report.h"
#include "tests/report/runs.h"
#include "tests/support/temporary_folder.h"

namespace mrrope::report {
namespace {

using base::Json;

Json file_of(const Json& values) {
  return Json{{"schema", "mrrope.published/1"}, {"source", "A paper, Table 1"}, {"values", values}};
}

Json value_of(const std::string& method, std::int64_t length, double value) {
  return Json{{"model", "model.gguf"}, {"method", method}, {"length", length},
              {"metric", "ppl"},       {"value", value},   {"place", "Table 1"}};
}

TEST(Published, HoldsWhatWasWritten) {
  Json score{{"model", "m"},      {"method", "yarn"},     {"length", 1024},
             {"metric", "score"}, {"task", "longbench2"}, {"place", "p"}};
  score["labels"] = Json{{"domain", "Code"}};
  score["above"] = 10;
  const Json json = file_of(Json::array({value_of("yarn", 2048, 3.5), score}));
  EXPECT_TRUE(is_published(json));
  const Result<PublishedFile> file = read_published(json);
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_EQ(file->values.size(), 2U);
  EXPECT_EQ(file->values[0].value, 3.5);
  EXPECT_FALSE(file->values[0].above);
  EXPECT_EQ(file->values[1].labels.at("domain"), "Code");
  EXPECT_TRUE(file->values[1].above);
}

TEST(Published, WhatIsMissingUnknownOrOutOfRangeIsAnErrorWithItsPlace) {
  const Json valid = value_of("yarn", 2048, 3.5);
  const auto where = [](const Json& value) {
    const Result<PublishedFile> file = read_published(file_of(Json::array({value})));
    return file ? std::string("read") : file.error().where;
  };
  EXPECT_EQ(where(valid), "read");
  for (const char* key : {"model", "method", "length", "metric", "value", "place"}) {
    Json without = valid;
    without.erase(key);
    EXPECT_EQ(where(without), std::string("values[0].") + key);
  }
  for (const auto& [key, value] :
       {std::pair<const char*, Json>{"length", 0}, {"metric", "bleu"}, {"value", -1}, {"model", ""}, {"other", 1}}) {
    Json spoilt = valid;
    spoilt[key] = value;
    EXPECT_NE(where(spoilt), "read") << key;
  }
  EXPECT_FALSE(is_published(Json{{"schema", "mrrope.plan/1"}}));
  EXPECT_FALSE(is_published(Json::array()));
}

TEST(Published, StandsBesideWhatWasMeasured) {
  const test::TemporaryFolder folder;
  test::ppl_run(folder.path("run"));
  std::ofstream(folder.path("published.json")) << file_of(
      Json::array({value_of("yarn", 2048, 4.0), value_of("yarn", 2048 * 64, 2.5), value_of("ntk", 2048, 3.0)}));
  const std::vector<std::string> paths = {folder.path("run"), folder.path("published.json")};
  const Result<Report> report = make_report(paths);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_NE(report->html.find("1 of 3 published values were measured"), std::string::npos);
  EXPECT_NE(report->html.find("not measured"), std::string::npos);
  EXPECT_NE(report->html.find("A paper, Table 1"), std::string::npos);
}

// Three of four right in one domain, one of four in the other, and a page that tells them apart.
TEST(Published, OfADomainStandsBesideTheAnswersOfThatDomain) {
  const test::TemporaryFolder folder;
  {
    Result<eval::RunFolder> run = eval::RunFolder::open(folder.path("run"), test::run_info("longbench2", "model.gguf"));
    ASSERT_TRUE(run);
    for (std::int64_t i = 0; i < 8; ++i) {
      eval::Record r = test::answer_record({.task = "longbench2",
                                            .method = "yarn",
                                            .factor = 4,
                                            .length = 2048,
                                            .index = i,
                                            .score = i < 3 || i == 4 ? 1.0 : 0.0});
      r.answer()->labels = {{"domain", i < 4 ? "Code" : "Law"}};
      ASSERT_TRUE(run->append(r));
    }
  }
  Json values = Json::array();
  for (const char* domain : {"Code", "Law", "Tables"}) {
    Json value = value_of("yarn", 2048, 75);
    value["metric"] = "score";
    value["task"] = "longbench2";
    value["labels"] = Json{{"domain", domain}};
    values.push_back(value);
  }
  std::ofstream(folder.path("published.json")) << file_of(values);
  const std::vector<std::string> paths = {folder.path("run"), folder.path("published.json")};
  const Result<Report> report = make_report(paths);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_NE(report->html.find("2 of 3 published values were measured"), std::string::npos);
  EXPECT_NE(report->html.find("75.0 (30–95) %"), std::string::npos);  // Wilson's interval of 3 of 4
  EXPECT_NE(report->html.find("25.0 (5–70) %"), std::string::npos);
}

}  // namespace
}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mrrope/records.h"
#include "tests/support/answers.h"
#include "tests/support/temporary_folder.h"

namespace mrrope::eval {
namespace {

using Json = nlohmann::ordered_json;

Record sample() {
  Record r = test::answer_record({.task = "niah_multivalue", .score = 0.1 + 0.2});
  r.answer()->references = {"one", "two \"quoted\"\n"};
  r.answer()->labels = {{"domain", "Code"}, {"id", "66f"}};
  r.answer()->others = {{"content_recall", 1.0 / 3}, {"exact", 0}};
  r.answer()->right = RightAnswer{.nll = 0.1 + 0.2, .tokens = 7};
  return r;
}

std::string refusal(const Json& json) {
  const Result<Record> record = record_from_json(json.dump());
  return record ? "accepted" : to_string(record.error());
}

TEST(Answer, ComesBackBitForBit) {
  const Result<Record> back = record_from_json(to_json(sample()));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, sample());
  Record bare = sample();
  bare.answer()->labels.clear();
  bare.answer()->others.clear();
  bare.answer()->rotation.clear();
  bare.answer()->right.reset();
  EXPECT_EQ(*record_from_json(to_json(bare)), bare);
}

// A million of them: nothing that only passes over documents have.
TEST(Answer, LeavesOutWhatPassesHave) {
  Record r = test::answer_record({});
  r.key = "k";
  r.document_hash = "h";
  EXPECT_EQ(to_json(r),
            R"({"schema":"mrrope.record/1","key":"k","task":"niah_single_1","method":"yarn","factor":4.0,)"
            R"("document":"niah_single_1 4096 #0","document_hash":"h","answer":{"length":4096,"index":0,"depth":0.25,)"
            R"("prompt_tokens":3968,"new_tokens":12,"text":" The special magic number is 1234567.","finish":"stop",)"
            R"("references":["1234567"],"score":1.0,"rotation":"00112233445566aa"},"seconds":0.5})");
}

TEST(Answer, AnythingUnexpectedIsAnErrorThatNamesTheField) {
  const Json good = Json::parse(to_json(sample()));
  for (const auto& [field, value] : good["answer"].items()) {
    Json without = good;
    without["answer"].erase(field);
    const bool optional = field == "labels" || field == "others" || field == "right" || field == "rotation";
    EXPECT_EQ(refusal(without), optional ? "accepted" : "answer." + field + ": missing");
    Json other = good;
    other["answer"][field] = nullptr;
    EXPECT_EQ(refusal(other).substr(0, 7 + field.size()), "answer." + field);
  }
  Json json = good;
  json["answer"]["score"] = 1.5;
  EXPECT_EQ(refusal(json), "answer.score: expected a number from 0 to 1");
  json = good;
  json["answer"]["others"]["exact"] = "yes";
  EXPECT_EQ(refusal(json), "answer.others.exact: expected a number, found a string");
  json = good;
  json["answer"]["scores"] = 1;
  EXPECT_EQ(refusal(json), "answer.scores: unknown field; did you mean score?");
  json = good;
  json["points"] = Json::array();
  EXPECT_EQ(refusal(json).substr(0, 7), "points:");
  json = good;
  json["answer"] = 3;
  EXPECT_EQ(refusal(json), "answer: expected an object, found a number");
  json = good;
  json.erase("answer");
  EXPECT_EQ(refusal(json), "points: missing");
}

TEST(Answer, WhatAModelSaysMayBeAnyBytes) {
  Record r = sample();
  r.answer()->text = "a\xff\xfe\n\x01{\"";
  const std::string line = to_json(r);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<Record> back = record_from_json(line);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->answer()->text, "a\xEF\xBF\xBD\xEF\xBF\xBD\n\x01{\"");
}

TEST(Answer, AScoreThatIsNotANumberIsRefusedAndTheRunStaysWhole) {
  const test::TemporaryFolder folder;
  const RunInfo info{.task = "ruler", .model = "m", .model_hash = "aa", .architecture = "llama", .engine = "none"};
  {
    Result<RunFolder> run = RunFolder::open(folder.path("run"), info);
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(run->append(sample()));
    for (const double score : std::initializer_list<double>{std::nan(""), INFINITY, -0.5, 2.0}) {
      Record bad = test::answer_record({.index = 9, .score = score});
      EXPECT_FALSE(run->append(bad)) << score;
      EXPECT_EQ(run->find(bad.key), nullptr);
    }
  }
  const Result<RunFolder> run = RunFolder::open(folder.path("run"), info);
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->records().size(), 1U);
}

TEST(Answer, TheHashOfARotationSeesEveryBit) {
  const std::vector<double> table = {1, 0.5, 0.25};
  const std::string hash = rotation_hash(table, 1.1);
  EXPECT_EQ(hash.size(), 16U);
  EXPECT_EQ(rotation_hash(table, 1.1), hash);
  EXPECT_NE(rotation_hash(table, std::nextafter(1.1, 2)), hash);
  EXPECT_NE(rotation_hash(std::vector<double>{1, 0.5, std::nextafter(0.25, 0)}, 1.1), hash);
  EXPECT_NE(rotation_hash(std::vector<double>{1, 0.5}, 1.1), hash);
}

}  // namespace
}  // namespace mrrope::eval

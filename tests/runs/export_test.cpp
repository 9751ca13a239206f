// SPDX-License-Identifier: MIT
//
// Lines of samples against the same put together as JSON, and an export of many files against the run.
#include "mrrope/export.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "runs/lm_eval_samples.h"
#include "tests/support/answers.h"
#include "tests/support/random_records.h"

namespace mrrope::eval {
namespace {

namespace fs = std::filesystem;
using base::Json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// As a tree.
Json sample_json(const std::vector<std::int64_t>& lengths, const Record& record, std::size_t number) {
  Json doc{{"document", record.document}};
  Json references = Json::array();
  std::string response;
  Json metrics = Json::array();
  Json values = Json::object();
  for (const std::int64_t length : lengths) {
    metrics.push_back(std::to_string(length));
    values[std::to_string(length)] = -1.0;
  }
  if (const Answer* answer = record.answer()) {
    const Answer& a = *answer;
    references = a.references;
    response = a.text;
    doc.update({{"index", a.index},
                {"outputs", references},
                {"length", a.prompt_tokens},
                {"max_length", a.length},
                {"depth", a.depth},
                {"new_tokens", a.new_tokens},
                {"finish", a.finish}});
    values[std::to_string(a.length)] = a.score;
    for (const auto& [rule, value] : a.others) {
      metrics.push_back(rule);
      values[rule] = value;
    }
  } else {
    for (const Reading::Point& p : record.reading()->points) {
      if (p.predicted <= 0) continue;
      values[std::to_string(p.length)] = std::exp(p.nll / static_cast<double>(p.predicted));
      response = fmt::format("{}", -p.nll);
    }
  }
  const std::string target = record.answer() != nullptr ? text_of(references) : "";
  Json json{{"doc_id", number},
            {"doc", doc},
            {"target", target},
            {"arguments", {{"gen_args_0", {{"arg_0", ""}}}}},
            {"resps", Json::array({Json::array({response})})},
            {"filtered_resps", Json::array({response})},
            {"filter", "none"},
            {"metrics", metrics},
            {"doc_hash", content_hash(text_of(doc))},
            {"prompt_hash", record.document_hash},
            {"target_hash", content_hash(target)}};
  json.update(values);
  return json;
}

TEST(Export, ALineOfSamplesIsTheJsonThatItShouldBe) {
  test::RandomRecords random(7);
  const std::vector<std::int64_t> lengths = {1024, 2048, 4096, 3072};
  SampleLines lines(lengths);
  for (std::size_t i = 0; i < 2000; ++i) {
    Record record = random.next();
    if (i % 10 == 0) record.document += '\xff';
    if (Reading* reading = record.reading(); reading != nullptr && i % 3 == 0) {
      for (Reading::Point& p : reading->points) p.nll = 1e9;  // exp() of it is no number
    }
    ASSERT_EQ(lines.line(record), text_of(sample_json(lengths, record, i)));
  }
}

// More files than are open together, and every sample once.
TEST(Export, ManyTasksAreWrittenInTurns) {
  std::string root = (fs::temp_directory_path() / "mrrope_export_XXXXXX").string();
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const std::string run = root + "/run";
  {
    RunInfo info;
    info.task = "t";
    info.model = "m";
    info.model_hash = "aa";
    Result<RunFolder> folder = RunFolder::open(run, info);
    ASSERT_TRUE(folder);
    for (int task = 0; task < 100; ++task) {
      for (const double score : {1.0, 0.0}) {
        Record record =
            test::answer_record({.task = fmt::format("t{}", task), .index = score > 0 ? 1 : 2, .score = score});
        ASSERT_TRUE(folder->append(record));
        record.key += "again";
        ASSERT_TRUE(folder->append(record));
      }
    }
  }
  const Result<std::vector<std::string>> files = export_lm_eval(run, root + "/out", {});
  ASSERT_TRUE(files) << to_string(files.error());
  ASSERT_EQ(files->size(), 101U);
  for (std::size_t i = 0; i < 100; ++i) {
    std::ifstream file((*files)[i]);
    std::vector<double> scores;
    for (std::string line; std::getline(file, line);) {
      const Json sample = Json::parse(line);
      EXPECT_EQ(sample["doc_id"], scores.size());
      scores.push_back(sample["4096"]);
    }
    EXPECT_EQ(scores, (std::vector<double>{1, 0})) << (*files)[i];
  }
  std::ifstream file(files->back());
  const Json results = Json::parse(file);
  EXPECT_EQ(results["results"]["t7"]["4096,none"], 0.5);
  EXPECT_EQ(results["n-samples"]["t7"]["effective"], 2);
  const Record one = test::answer_record({.task = "t7", .index = 1});
  const Record two = test::answer_record({.task = "t7", .index = 2});
  EXPECT_EQ(results["task_hashes"]["t7"], content_hash(one.document_hash + two.document_hash));
  fs::remove_all(root);
}

}  // namespace
}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include "report/tune_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/report/tune_example.h"
#include "tests/support/temporary_folder.h"

namespace mrrope::report {
namespace {

using base::Json;
using test::tune_example;

Result<TuneFile> read(const Json& json) { return tune_from_json(base::write_json(json)); }

TEST(TuneFile, HoldsWhatWasWritten) {
  Json json = tune_example();
  json["of a later mrrope"] = 1;  // left alone
  json["search"][0]["seconds"] = 1.5;
  const Result<TuneFile> tune = read(json);
  ASSERT_TRUE(tune) << to_string(tune.error());
  EXPECT_EQ(tune->context_trained, 512);
  EXPECT_EQ(tune->context, 2048);
  EXPECT_EQ(tune->evaluations, 13);
  ASSERT_EQ(tune->search.size(), 6U);
  EXPECT_EQ(tune->tuned_table().method, test::kTunedLaw);
  EXPECT_EQ(tune->tuned_table().tokens, 240'000);
  EXPECT_EQ(tune->tuned_table().objective, 1.875);
  EXPECT_EQ(tune->best_fixed_table().method, "mrrope-pro");
  EXPECT_TRUE(tune->tuned_is_recommended);
  ASSERT_EQ(tune->verdict.size(), 6U);
  const TuneFile::Difference* d = tune->find("none", TuneFile::Metric::ppl_short);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->difference, 0.032);
  EXPECT_TRUE(d->worse);
  EXPECT_EQ(tune->find("none", TuneFile::Metric::score), nullptr);
}

// `object` is the part of `json` at `path`: each of its fields left out, and as something else.
void expect_fields_are_checked(const Json& json, const Json::json_pointer& object, const std::string& path) {
  const Json others = Json::array({nullptr, true, 7.5, "7", Json::array(), Json::object()});
  for (const auto& [key, value] : json[object].items()) {
    Json broken = json;
    broken[object].erase(key);
    const Result<TuneFile> without = read(broken);
    ASSERT_FALSE(without) << key;
    EXPECT_EQ(without.error().where, path + key);
    EXPECT_EQ(without.error().message, "missing");
    for (const Json& other : others) {
      if (base::kind_of(other) == base::kind_of(value)) continue;
      broken[object][key] = other;
      const Result<TuneFile> wrong = read(broken);
      ASSERT_FALSE(wrong) << key << " is " << other;
      EXPECT_EQ(wrong.error().where, path + key) << to_string(wrong.error());
    }
  }
}

TEST(TuneFile, EveryFieldIsThereAndOfItsType) {
  const Json json = tune_example();
  expect_fields_are_checked(json, Json::json_pointer(""), "");
  expect_fields_are_checked(json, Json::json_pointer("/search/2"), "search[2].");
  expect_fields_are_checked(json, Json::json_pointer("/verdict/5"), "verdict[5].");
}

struct Lie {
  const char* pointer;
  Json value;
  const char* where;
};

TEST(TuneFile, ValuesThatCannotBeAreRefused) {
  const std::vector<Lie> lies = {
      {"/schema", "mrrope.tune/2", "schema"},
      {"/prefer", "both", "prefer"},
      {"/context", 0, "context"},
      {"/context_trained", 511.5, "context_trained"},
      {"/tokens", -1, "tokens"},
      {"/tokens", 1e300, "tokens"},
      {"/label", "", "label"},
      {"/tuned", "mrrope-power:p=7", "tuned"},
      {"/best_fixed", "mrrope-uni", "best_fixed"},
      {"/best_fixed", test::kTunedLaw, "best_fixed"},
      {"/recommended", "yarn", "recommended"},
      {"/search", Json::array(), "tuned"},
      {"/search/3/tokens", 10, "search"},
      {"/search/3/beyond", -0.1, "search[3].beyond"},
      {"/search/3/within", 1e308, "search[3].within"},
      {"/search/3/objective", 301, "search[3].objective"},
      {"/search/3", 3, "search[3]"},
      {"/verdict/0/metric", "ppl", "verdict[0].metric"},
      {"/verdict/0/low", -1e308, "verdict[0].low"},
      {"/verdict/0/high", -0.5, "verdict[0].high"},
      {"/verdict/0/items", 2.5, "verdict[0].items"},
  };
  for (const Lie& lie : lies) {
    Json json = tune_example();
    json[Json::json_pointer(lie.pointer)] = lie.value;
    const Result<TuneFile> tune = read(json);
    ASSERT_FALSE(tune) << lie.pointer << " is " << lie.value;
    EXPECT_EQ(tune.error().where, lie.where) << to_string(tune.error());
  }
}

TEST(TuneFile, NumbersAreFinite) {
  const std::string text = base::write_json(tune_example());
  const std::string number = "\"objective\": 1.875";
  const std::size_t at = text.find(number);
  ASSERT_NE(at, std::string::npos);
  for (const std::string never : {"NaN", "Infinity", "-Infinity", "1e999", "nan"}) {
    std::string broken = text;
    broken.replace(at, number.size(), "\"objective\": " + never);
    EXPECT_FALSE(tune_from_json(broken)) << never;
  }
}

TEST(TuneFile, NoBeginningOfAFileIsOne) {
  const std::string text = tune_example().dump();
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    ASSERT_FALSE(tune_from_json(std::string(text, 0, bytes))) << bytes;  // a copy: a sanitizer sees what is behind it
  }
  EXPECT_TRUE(tune_from_json(text));
}

TEST(TuneFile, MoreTablesThanAPageHoldsAreRefused) {
  Json json = tune_example();
  const Json last = json["search"].back();
  for (int i = 0; i < 10'000; ++i) json["search"].push_back(last);
  const Result<TuneFile> tune = read(json);
  ASSERT_FALSE(tune);
  EXPECT_EQ(tune.error().where, "search");
}

// Vega-Lite writes names into expressions, whose parser takes U+2028 for the end of a line.
TEST(TuneFile, NamesArePrintable) {
  Json json = tune_example();
  json["label"] = "tuned\u2028\x01";
  const Result<TuneFile> tune = read(json);
  ASSERT_TRUE(tune) << to_string(tune.error());
  EXPECT_EQ(tune->label, "tuned\uFFFD\uFFFD");
}

TEST(ReadTune, ErrorsNameTheFile) {
  const test::TemporaryFolder folder;
  const Result<std::optional<TuneFile>> none = read_tune(folder.path(""));
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);

  const std::string path = folder.path("tune.json");
  std::ofstream(path) << R"({"schema": "mrrope.tune/1", "model_hash": 3})";
  const Result<std::optional<TuneFile>> wrong = read_tune(folder.path(""));
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().where.ends_with("tune.json"));
  EXPECT_EQ(wrong.error().message, "model_hash: expected a string, found a number");

  std::ofstream(path) << std::string((std::size_t{16} << 20) + 1, ' ');
  const Result<std::optional<TuneFile>> huge = read_tune(folder.path(""));
  ASSERT_FALSE(huge);
  EXPECT_TRUE(huge.error().where.ends_with("tune.json"));
}

}  // namespace
}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
//
// Edits of a config.json change the value they are about and no other byte.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/formats/hf_fixtures.h"

namespace mrrope {
namespace {

using test::config;
using test::config_file;
using Json = nlohmann::ordered_json;

std::string edited(const std::string& before, const std::string& path, const std::string& value) {
  HfConfig c = config(before);
  const auto done = c.set(path, value);
  EXPECT_TRUE(done) << to_string(done.error());
  return c.text();
}

std::string removed(const std::string& before, const std::string& path) {
  HfConfig c = config(before);
  const auto done = c.remove(path);
  EXPECT_TRUE(done) << to_string(done.error());
  return c.text();
}

TEST(HfEdit, WithoutAnEditEveryFileIsItself) {
  for (const std::string& name : test::config_names()) {
    EXPECT_EQ(config_file(name).text(), test::config_text(name)) << name;
    EXPECT_TRUE(config_file(name).changes().empty()) << name;
  }
}

TEST(HfEdit, KeepsDigitsEscapesOrderAndLayoutOfEverythingElse) {
  const std::string before =
      "{\n    \"z\": 1e-06,\n    \"name\": \"\\u00e9\\/ü\",\n    \"rope_theta\": 1.0E4,\n    \"list\": [1,\n2],\n    "
      "\"a\": 1.00\n}\n";
  const std::string after = edited(before, "rope_theta", "500000.0");
  EXPECT_EQ(after,
            "{\n    \"z\": 1e-06,\n    \"name\": \"\\u00e9\\/ü\",\n    \"rope_theta\": 500000.0,\n    \"list\": "
            "[1,\n2],\n    "
            "\"a\": 1.00\n}\n");
}

TEST(HfEdit, LaysNewObjectsOutAsTheFileIs) {
  EXPECT_EQ(edited("{\n    \"a\": 1\n}", "b", R"({"x": {"y": 2}, "l": [1, 2]})"),
            "{\n    \"a\": 1,\n    \"b\": {\n        \"x\": {\n            \"y\": 2\n        },\n        \"l\": [1, "
            "2]\n    }\n}");
  EXPECT_EQ(edited("{\n\t\"a\": [\n\t\t1\n\t]\n}", "b", R"({"l": [1, 2]})"),
            "{\n\t\"a\": [\n\t\t1\n\t],\n\t\"b\": {\n\t\t\"l\": [\n\t\t\t1,\n\t\t\t2\n\t\t]\n\t}\n}");
  EXPECT_EQ(edited(R"({"a":1,"c":2})", "b", R"({"x": [1, 2]})"), R"({"a":1,"c":2,"b":{"x":[1,2]}})");
  EXPECT_EQ(edited(R"({"a": 1})", "b", "2"), R"({"a": 1, "b": 2})");
  EXPECT_EQ(edited("{\r\n  \"a\": 1\r\n}", "b", "{\"c\": 2}"),
            "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}");
  EXPECT_EQ(edited("{}", "a", "1"), "{\n  \"a\": 1\n}");
  EXPECT_EQ(edited("{\n  \"t\": {}\n}", "t.a", "1"), "{\n  \"t\": {\n    \"a\": 1\n  }\n}");
  EXPECT_EQ(edited("\xEF\xBB\xBF{\"a\": 1}", "a", "2"), "\xEF\xBB\xBF{\"a\": 2}");
}

TEST(HfEdit, RemovesAMemberWithItsComma) {
  const std::string three = "{\n  \"a\": 1,\n  \"b\": {\"x\": \"},\"},\n  \"c\": 3\n}";
  EXPECT_EQ(removed(three, "a"), "{\n  \"b\": {\"x\": \"},\"},\n  \"c\": 3\n}");
  EXPECT_EQ(removed(three, "b"), "{\n  \"a\": 1,\n  \"c\": 3\n}");
  EXPECT_EQ(removed(three, "c"), "{\n  \"a\": 1,\n  \"b\": {\"x\": \"},\"}\n}");
  EXPECT_EQ(removed(three, "b.x"), "{\n  \"a\": 1,\n  \"b\": {},\n  \"c\": 3\n}");
  EXPECT_EQ(removed("{\n  \"a\": 1\n}", "a"), "{}");
}

TEST(HfEdit, FindsKeysWrittenWithEscapes) {
  EXPECT_EQ(edited(R"({"rope\u005ftheta": 1, "q\"\\": 2})", "rope_theta", "3"),
            R"({"rope\u005ftheta": 3, "q\"\\": 2})");
}

TEST(HfEdit, ListsWhatDiffersFieldByField) {
  HfConfig c = config_file("llama-3.1-8b");
  ASSERT_TRUE(c.set("rope_scaling.factor", "16.0"));
  ASSERT_TRUE(c.set("max_position_embeddings", "262144"));
  ASSERT_TRUE(c.remove("rope_scaling.low_freq_factor"));
  ASSERT_TRUE(c.set("rope_parameters", R"({"rope_type": "default"})"));
  EXPECT_EQ(c.changes(), (std::vector<HfChange>{{"max_position_embeddings", "131072", "262144"},
                                                {"rope_scaling.factor", "8.0", "16.0"},
                                                {"rope_scaling.low_freq_factor", "1.0", ""},
                                                {"rope_parameters", "", R"({"rope_type":"default"})"}}));
}

TEST(HfEdit, EditsThatCancelOutLeaveNoTrace) {
  const std::string before = test::config_text("qwen3-8b");
  HfConfig c = config(before);
  ASSERT_TRUE(c.set("rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})"));
  ASSERT_TRUE(c.set("rope_scaling.factor", "2.0"));
  EXPECT_NE(c.text(), before);
  ASSERT_TRUE(c.remove("rope_scaling"));
  ASSERT_TRUE(c.set("rope_scaling", "null"));  // now at the end of the file, were it kept
  EXPECT_EQ(c.text(), before);
  EXPECT_TRUE(c.changes().empty());
}

TEST(HfEdit, AnIntegerAndAFloatAreDifferentTexts) {
  HfConfig c = config(R"({"rope_theta": 10000})");
  ASSERT_TRUE(c.set("rope_theta", "10000.0"));
  EXPECT_EQ(c.changes(), (std::vector<HfChange>{{"rope_theta", "10000", "10000.0"}}));
  EXPECT_EQ(c.text(), R"({"rope_theta": 10000.0})");
}

TEST(HfEdit, ChangesCanBeCarriedOverAndTakenBack) {
  const HfConfig before = config_file("gemma-3-4b");
  HfConfig after = before;
  ASSERT_TRUE(after.set("text_config.rope_scaling", R"({"rope_type": "yarn", "factor": 16.0})"));
  ASSERT_TRUE(after.set("text_config.max_position_embeddings", "262144"));

  HfConfig other = before;
  ASSERT_TRUE(other.apply(after.changes()));
  EXPECT_EQ(other.changes(), after.changes());
  EXPECT_EQ(test::spec_of(other), test::spec_of(after));
  std::vector<HfChange> back = after.changes();
  for (HfChange& change : back) std::swap(change.before, change.after);
  ASSERT_TRUE(other.apply(back));
  EXPECT_EQ(other.text(), before.text());
}

TEST(HfEdit, AppliesAllChangesOrNone) {
  HfConfig c = config(R"({"a": 1, "b": 2})");
  const std::vector<HfChange> changes = {{"a", "1", "5"}, {"b", "3", "4"}};
  const auto done = c.apply(changes);
  ASSERT_FALSE(done);
  EXPECT_EQ(to_string(done.error()), "b: expected 3, found 2");
  EXPECT_EQ(c.text(), R"({"a": 1, "b": 2})");
}

TEST(HfEdit, RefusesWhatItCannotDoAndChangesNothing) {
  const std::string before = R"({"rope_scaling": null, "a": {"b": 1}})";
  HfConfig c = config(before);
  EXPECT_FALSE(c.set("rope_scaling.factor", "4"));
  EXPECT_FALSE(c.set("nothing.factor", "4"));
  EXPECT_FALSE(c.set("a.b.c", "4"));
  EXPECT_FALSE(c.set("", "4"));
  EXPECT_FALSE(c.set("a..b", "4"));
  EXPECT_FALSE(c.set("a", "{"));
  EXPECT_FALSE(c.set("a", ""));
  EXPECT_FALSE(c.set("a", R"({"x": 1, "x": 2})"));
  EXPECT_FALSE(c.remove("x"));
  EXPECT_FALSE(c.remove("a.x"));
  EXPECT_FALSE(c.remove(""));
  EXPECT_EQ(c.text(), before);
  EXPECT_EQ(to_string(c.set("rope_scaling.factor", "4").error()),
            "rope_scaling.factor: expected an object around it; set that as a whole");
}

TEST(HfEdit, ReadsValuesByPath) {
  const HfConfig c = config(R"({"a": {"b": [1, 2.50, "x"]}, "n": null})");
  EXPECT_EQ(c.value("a.b"), R"([1,2.5,"x"])");
  EXPECT_EQ(c.value("n"), "null");
  EXPECT_EQ(c.value("a.b.c"), "");
  EXPECT_EQ(c.value(""), "");
}

// Every member is replaced, removed and added to; the rest must survive, by an independent parser.
TEST(HfEdit, EveryFieldCanBeSetAndRemoved) {
  for (const std::string name : {"llama-2-7b", "gemma-3-4b", "gpt-j-6b", "universal-longrope"}) {
    const HfConfig original = config_file(name);
    const Json tree = Json::parse(original.text());
    for (const auto& [key, value] : tree.items()) {
      HfConfig c = original;
      ASSERT_TRUE(c.set(key, R"({"new": [1, 2], "é": "\n"})")) << name << " " << key;
      Json expected = tree;
      expected[key] = Json{{"new", {1, 2}}, {"é", "\n"}};
      EXPECT_EQ(Json::parse(c.text()).dump(), expected.dump());
      ASSERT_TRUE(c.set(key + ".more", "null"));
      expected[key]["more"] = nullptr;
      EXPECT_EQ(Json::parse(c.text()).dump(), expected.dump());
      ASSERT_TRUE(c.remove(key));
      expected.erase(key);
      EXPECT_EQ(Json::parse(c.text()).dump(), expected.dump());
      EXPECT_EQ(c.changes(), (std::vector<HfChange>{{key, value.dump(), ""}}));
    }
  }
}

}  // namespace
}  // namespace mrrope

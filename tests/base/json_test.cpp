// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <gtest/gtest.h>

namespace mrrope::base {
namespace {

TEST(JsonParse, NamesLineAndColumnOfASyntaxError) {
  const auto result = parse_json("{\n  \"a\": 1,\n  \"b\": }\n");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "line 3, column 8");
}

// nlohmann::json keeps the last of two equal keys; two readers of one file would then disagree.
TEST(JsonParse, RejectsRepeatedKeys) {
  const auto result = parse_json(R"({"a": {"b": 1, "b": 2}})");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "b");
  EXPECT_TRUE(parse_json(R"({"a": {"b": 1}, "c": {"b": 2}})"));
}

TEST(JsonParse, RejectsRunawayNesting) {
  EXPECT_FALSE(parse_json(std::string(100000, '[')));
  EXPECT_FALSE(parse_json(std::string(40, '[') + std::string(40, ']')));
  EXPECT_TRUE(parse_json(std::string(20, '[') + std::string(20, ']')));
}

TEST(JsonParse, RejectsNumbersBeyondDouble) { EXPECT_FALSE(parse_json(R"({"a": 1e999})")); }

TEST(JsonWrite, KeepsListsOfNumbersOnOneLine) {
  EXPECT_EQ(write_json(Json{{"a", {1, 2.5}}, {"b", Json::array({Json{{"c", "x"}}})}, {"d", Json::array()}}),
            "{\n  \"a\": [1, 2.5],\n  \"b\": [\n    {\n      \"c\": \"x\"\n    }\n  ],\n  \"d\": []\n}\n");
}

TEST(JsonWrite, DoublesReadBackBitForBit) {
  const std::vector<double> values = {0.1, 1.0 / 3, 1e30, 4.9e-324, 1.7976931348623157e308, 1.2772588722239782};
  const Json back = *parse_json(write_json(Json(values)));
  EXPECT_EQ(back.get<std::vector<double>>(), values);
}

// A plan made of a GGUF whose name was not UTF-8 ended the program.
TEST(JsonWrite, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(write_json(Json{{"na\xff", "\x88tiny"}}), "{\n  \"na\xEF\xBF\xBD\": \"\xEF\xBF\xBDtiny\"\n}\n");
}

TEST(ObjectReader, SaysWhatWasExpectedAndWhere) {
  const Json json = {{"a", {{"b", "text"}, {"n", 1.5}, {"list", {1, "x"}}}}};
  ObjectReader reader(json, "");
  ObjectReader a = reader.object("a");
  const auto error = [](auto&& read) {
    try {
      read();
    } catch (const Rejected& rejected) {
      return to_string(rejected.error);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(error([&] { a.number("b"); }), "a.b: expected a number, found a string");
  EXPECT_EQ(error([&] { a.integer("n", 0, 9); }), "a.n: expected a whole number between 0 and 9, found 1.5");
  EXPECT_EQ(error([&] { a.numbers("list"); }), "a.list[1]: expected a number, found a string");
  EXPECT_EQ(error([&] { a.text("missing"); }), "a.missing: missing");
  EXPECT_EQ(error([&] { reader.finish(); }), "accepted");
  EXPECT_EQ(error([&] { ObjectReader(json, "").finish(); }), "a: unknown field");
}

}  // namespace
}  // namespace mrrope::base

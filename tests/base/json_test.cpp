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

TEST(JsonParse, SaysWhereANumberIsTooLargeInItsOwnWords) {
  const auto result = parse_json("{\"a\": 1,\n \"b\": 1e999}");
  ASSERT_FALSE(result);
  EXPECT_EQ(to_string(result.error()), "line 2, column 11: a number beyond the range of a double");
}

// 80,000 keys took 38 seconds, 120,000 empty objects in a list 12; speed_test.cpp has the limits.
TEST(JsonParse, ReadsManyMembersAndElements) {
  std::string object = "{", list = "[";
  for (int i = 0; i < 80'000; ++i)
    object += (i > 0 ? ",\"key " : "\"key ") + std::to_string(i) + "\": " + std::to_string(i);
  for (int i = 0; i < 120'000; ++i) list += i > 0 ? ",{}" : "{}";
  const auto members = parse_json(object + "}");
  ASSERT_TRUE(members);
  EXPECT_EQ(members->size(), 80'000U);
  EXPECT_EQ((*members)["key 79999"], 79'999);
  EXPECT_EQ(members->begin().key(), "key 0") << "in the order of the text";
  EXPECT_EQ(parse_json(list + "]")->size(), 120'000U);
}

TEST(JsonParse, FindsARepeatedKeyAmongMany) {
  std::string object = "{\"a\": 0";
  for (int i = 0; i < 1000; ++i) object += ",\"k" + std::to_string(i) + "\": {\"a\": 1}";
  EXPECT_TRUE(parse_json(object + "}"));
  const auto result = parse_json(object + ",\"a\": 2}");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "a");
}

TEST(JsonParse, RefusesMoreValuesThanItsLimit) {
  std::string list = "[0";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) list += ",0";
  const auto result = parse_json(list + "]");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "more than 4194304 values");
}

TEST(JsonWrite, WhatATerminalWouldObeyIsEscaped) {
  const std::string text = "a\x1b[31m\x7f\u009b\u202e\u2028\U000E0041é模";
  const std::string written = write_json(Json{{text, text}});
  EXPECT_NE(written.find("\\u001b[31m\\u007f\\u009b\\u202e\\u2028\\udb40\\udc41é模"), std::string::npos) << written;
  EXPECT_EQ((*parse_json(written))[text], text);
}

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

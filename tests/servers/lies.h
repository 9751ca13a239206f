// SPDX-License-Identifier: MIT
//
// What servers may say in the place of an answer.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/servers/stub_server.h"

namespace mrrope::test {

inline const std::string kKey = "sk-0123456789abcdefghij";

struct Lie {
  const char* name;
  std::string bytes;
  const char* expected;  // in the error
};
// In the place of its bytes, which are no name for a test.
inline void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.name; }

inline std::string ok(const std::string& body) { return http(200, body); }

// Every one of them repeats the key.
inline std::vector<Lie> lies() {
  const std::string choice = R"({"choices": [{"text": "x", "finish_reason": "stop"}])";
  return {
      {"garbage", "\x01\x02 \xff" + kKey, ""},
      {"nothing", "", ""},
      {"no_status", "HTTP/1.1 abc " + kKey + "\r\n\r\n", ""},
      {"half_a_header", "HTTP/1.1 200 OK\r\nContent-Le" + kKey, ""},
      {"garbage_json", ok("certainly! {" + kKey), "no JSON"},
      {"truncated_json", ok(R"({"choices": [{"text": ")" + kKey), "no JSON"},
      {"truncated_body", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"a\": \"" + kKey, "remaining"},
      {"negative_length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}" + kKey, ""},
      {"bad_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz" + kKey + "\r\n{}\r\n", ""},
      {"html", http(200, "<h1>" + kKey + "</h1>", "", "text/html"), "expected JSON, found text/html"},
      {"stream", http(200, "data: {}", "", "text/event-stream; " + kKey), "expected JSON, found text/event-stream"},
      {"compressed", http(200, "\x1f\x8b\x08" + kKey, "Content-Encoding: gzip\r\n"), "no JSON"},
      {"list", ok("[\"" + kKey + "\"]"), "expected an object, found a list"},
      {"no_choices", ok("{\"x\": \"" + kKey + "\"}"), "choices: missing"},
      {"choices_object", ok(R"({"choices": {"a": ")" + kKey + "\"}}"), "choices: expected a list, found an object"},
      {"no_choice", ok(R"({"choices": [], "x": ")" + kKey + "\"}"), "choices: expected an answer, found none"},
      {"choice_number", ok(R"({"choices": [1], "x": ")" + kKey + "\"}"),
       "choices[0]: expected an object, found a number"},
      {"no_text", ok(R"({"choices": [{"message": ")" + kKey + "\"}]}"), "choices[0].text: missing"},
      {"text_number", ok(R"({"choices": [{"text": 5, "x": ")" + kKey + "\"}]}"),
       "choices[0].text: expected a string, found a number"},
      {"finish_number", ok(R"({"choices": [{"text": "x", "finish_reason": 5, "x": ")" + kKey + "\"}]}"),
       "finish_reason"},
      {"finish_prose", ok(R"({"choices": [{"text": "x", "finish_reason": ")" + kKey + "\"}]}"), "finish_reason"},
      {"usage_text", ok(choice + R"(, "usage": ")" + kKey + "\"}"), "usage: expected an object, found a string"},
      {"usage_negative", ok(choice + R"(, "usage": {"prompt_tokens": -1}, "x": ")" + kKey + "\"}"),
       "usage.prompt_tokens"},
      {"usage_huge", ok(choice + R"(, "usage": {"prompt_tokens": 1e300}, "x": ")" + kKey + "\"}"),
       "usage.prompt_tokens"},
      {"overflow", ok(choice + R"(, "n": 1e999, "x": ")" + kKey + "\"}"), "no JSON"},
      {"twice", ok(choice + R"(, "choices": [{"text": ")" + kKey + "\"}]}"), "occurs twice"},
      {"key_as_field", ok("{\"" + kKey + "\": 1, \"" + kKey + "\": 2}"), "occurs twice"},
      {"deep", ok(std::string(100'000, '[') + kKey), "no JSON"},
      {"not_utf8",
       ok(R"({"choices": [{"text": ")"
          "\xff" +
          kKey + "\"}]}"),
       "no JSON"},
      {"key_as_answer", ok(R"({"choices": [{"text": ")" + kKey + "\"}]}"), "repeats the API key"},
      {"key_in_lower_case", ok(R"({"choices": [{"text": "sK-)" + kKey.substr(3) + "\"}]}"), "repeats the API key"},
      {"key_escaped", ok(R"({"choices": [{"text": "\u0073)" + kKey.substr(1) + "\"}]}"), "repeats the API key"},
      {"error_500", http(500, R"({"error": {"message": "\u0073)" + kKey.substr(1) + "\\n\\u001b[31m is\"}}"),
       "HTTP 500: [key] [31m is"},
      {"error_502", http(502, "<h1>" + kKey + "\x1b[0m</h1>", "", "text/html"), "HTTP 502: <h1>[key] [0m</h1>"},
      {"redirect", http(307, "", "Location: http://elsewhere/" + kKey + "\r\n"), "not followed"},
      {"redirect_nowhere", http(302, kKey), "not followed"},
  };
}

}  // namespace mrrope::test

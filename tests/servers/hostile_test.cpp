// SPDX-License-Identifier: MIT
//
// Servers that say anything, or nothing, for ever: an error that people can read, in bounded time and memory.
#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

// What would be recorded of an answer.
std::string recorded(const std::string& key, const std::string& text, const std::string& finish) {
  const nlohmann::json body = {{"choices", {{{"text", text}, {"finish_reason", finish}}}}};
  StubServer server(says(ok(body.dump())));
  const Outcome outcome = ask({.urls = {server.url()}, .api_key = key, .attempts = 1}, 1);
  if (!outcome.run || !outcome.answers.at(0)) return "refused";
  return outcome.answers.at(0)->text + "|" + outcome.answers.at(0)->finish;
}

TEST(Key, IsInNoFieldOfAnAnswer) {
  const std::string key = "Secret_Of_The_House";
  EXPECT_EQ(recorded(key, "fine", "stop"), "fine|stop");
  EXPECT_EQ(recorded(key, "it is secret_of_the_hous", "stop"), "it is [key]|stop");  // all but the last character
  EXPECT_EQ(recorded(key, "ECRET_OF_THE_HOUSE!", "stop"), "[key]!|stop");
  EXPECT_EQ(recorded(key, "fine", "secret_of_the_house"), "fine|[key]");
  EXPECT_EQ(recorded(key, "fine", "of_the_house"), "fine|[key]");
  EXPECT_EQ(recorded(key, "the SECRET_OF_THE_HOUSE", "stop"), "refused");
  EXPECT_EQ(recorded("short", "a short answer", "short"), "a [key] answer|[key]");
  EXPECT_EQ(recorded("EMPTY", "the list is empty", "stop"), "the list is empty|stop");
}

class Hostile : public testing::TestWithParam<Lie> {};

TEST_P(Hostile, AnswerIsAReadableErrorThatDoesNotShowTheKey) {
  StubServer server(says(GetParam().bytes));
  const Outcome outcome = ask({.urls = {server.url()}, .model = "m", .api_key = kKey, .attempts = 2}, 1);
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  ASSERT_EQ(outcome.calls[0], 1);
  ASSERT_FALSE(outcome.answers.at(0));
  const Error& error = outcome.answers.at(0).error();
  const std::string text = to_string(error);
  EXPECT_NE(text.find(GetParam().expected), std::string::npos) << text;
  EXPECT_NE(text.find("(2 attempts)"), std::string::npos) << text;
  EXPECT_EQ(text.find(kKey), std::string::npos) << text;
  EXPECT_TRUE(error.code == ErrorCode::malformed || error.code == ErrorCode::io);
  EXPECT_EQ(error.where, server.url());
  EXPECT_LT(text.size(), 1000U) << text;
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << text;
}

TEST_P(Hostile, ServerDoesNotKeepAnotherFromAnswering) {
  StubServer liar(says(GetParam().bytes)), server(honest());
  const Outcome outcome = ask({.urls = {liar.url(), server.url()}, .api_key = kKey, .concurrency = 2}, 12);
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  EXPECT_TRUE(outcome.each_answered_once());
}

INSTANTIATE_TEST_SUITE_P(All, Hostile, testing::ValuesIn(lies()),
                         [](const testing::TestParamInfo<Lie>& lie) { return std::string(lie.param.name); });

// ---- Without end ----------------------------------------------------------------------------------------------------

// What becomes of one attempt at a server that goes on repeating `bytes` after `beginning`.
std::string error_of_endless(const std::string& beginning, const std::string& bytes,
                             milliseconds pause = milliseconds(0), double deadline_s = 60) {
  StubServer server([&](const StubServer::Caller& caller, const Question&) {
    if (!caller.send(beginning)) return false;
    while (caller.send(bytes) && (pause.count() == 0 || caller.sleep(pause))) {
    }
    return false;
  });
  const Outcome outcome = ask({.urls = {server.url()}, .api_key = kKey, .deadline_s = deadline_s, .attempts = 1}, 1);
  if (!outcome.run) return to_string(outcome.run.error());
  return outcome.answers.at(0) ? "answered" : outcome.answers.at(0).error().message;
}

TEST(Endless, BodyIsCutOff) {
  const std::string block(65536, 'x');
  const std::string expected = "the answer has more than 8388608 bytes";
  EXPECT_EQ(error_of_endless("HTTP/1.1 200 OK\r\n\r\n{\"a\": \"", block), expected);
  EXPECT_EQ(error_of_endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n" + block + "\r\n"),
            expected);
  EXPECT_EQ(error_of_endless("HTTP/1.1 500 OK\r\n\r\n", block), expected);
}

TEST(Endless, LineOfTenMegabytesIsCutOff) {
  StubServer server(says(http(200, R"({"choices": [{"text": ")" + std::string(10 << 20, 'x') + "\"}]}")));
  const Outcome outcome = ask({.urls = {server.url()}, .attempts = 1}, 1);
  EXPECT_EQ(outcome.answers.at(0).error().message, "the answer has more than 8388608 bytes");
}

// As JSON a text may be six times as long, and a record has to hold it.
TEST(Endless, TextOfAnAnswerIsBounded) {
  StubServer server(says(http(200, R"({"choices": [{"text": ")" + std::string((2 << 20) + 1, 'x') + "\"}]}")));
  const Outcome outcome = ask({.urls = {server.url()}, .attempts = 1}, 1);
  ASSERT_FALSE(outcome.answers.at(0));
  EXPECT_EQ(outcome.answers.at(0).error().message.find("the answer's text has 2097153 bytes, more than 2097152"), 0U);
}

// 50 MB of it took 1 GB of memory.
TEST(Endless, TokensAreCutOffAtTheSameBytesAsAnswers) {
  std::string tokens = "{\"tokens\": [1";
  while (tokens.size() < std::size_t{9} << 20) tokens += ",12345678";
  StubServer server(says(ok(tokens + "]}")));
  const auto count = server_token_count({.urls = {server.url()}}, "x");
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().message, "the answer has more than 8388608 bytes");
}

TEST(Endless, HeadersAreCutOff) {
  const std::string value(1000, 'x');
  EXPECT_EQ(error_of_endless("HTTP/1.1 200 OK\r\n", "X: " + value + "\r\n"),
            "the headers of the answer have more than 65536 bytes");
  EXPECT_EQ(error_of_endless("", "HTTP/1.1 100 Continue\r\n\r\n"),
            "the headers of the answer have more than 65536 bytes");
  // libcurl has bounds of its own for a single line.
  EXPECT_NE(error_of_endless("HTTP/1.1 200 ", value), "answered");
  EXPECT_NE(error_of_endless("HTTP/1.1 200 OK\r\nX: ", value), "answered");
  EXPECT_NE(error_of_endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"), "answered");
}

TEST(Endless, DripEndsAtTheDeadline) {
  for (const char* beginning : {"HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(error_of_endless(beginning, "x", milliseconds(50), 0.6), "no complete answer within 0.6 s");
    EXPECT_GE(seconds_since(start), 0.6);
    EXPECT_LT(seconds_since(start), 10);
  }
}

TEST(Endless, SilenceEndsAtTheDeadline) {
  StubServer server(
      [](const StubServer::Caller& caller, const Question&) { return caller.wait_for_hangup() && false; });
  const Outcome outcome = ask({.urls = {server.url()}, .deadline_s = 0.3, .attempts = 1}, 1);
  EXPECT_EQ(outcome.answers.at(0).error().message, "no complete answer within 0.3 s");
}

// ---- Statuses -------------------------------------------------------------------------------------------------------

// Answers with `replies` in turn, then honestly.
StubServer::Behaviour first(std::vector<std::string> replies) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return [replies = std::move(replies), next](const StubServer::Caller& caller, const Question& question) {
    const std::size_t i = (*next)++;
    return caller.send(i < replies.size() ? replies[i] : completion(question.prompt() + ", answered"));
  };
}

TEST(Status, OfAServerInTroubleIsTriedAgain) {
  StubServer server(first({http(500, "oops"), http(408, "")}));
  const Outcome outcome = ask({.urls = {server.url()}, .concurrency = 1}, 1);
  ASSERT_TRUE(outcome.each_answered_once());
  EXPECT_EQ(outcome.answers.at(0)->attempts, 3);
}

TEST(Status, OfABusyServerIsGivenTheTimeItAsksFor) {
  for (const int status : {429, 503}) {
    StubServer server(first({http(status, "", "Retry-After: 1\r\n")}));
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = ask({.urls = {server.url()}, .concurrency = 1}, 3);
    EXPECT_TRUE(outcome.each_answered_once());
    EXPECT_EQ(outcome.answers.at(0)->attempts, 2);
    EXPECT_GE(seconds_since(start), 1);
  }
}

TEST(Status, OfABusyServerSendsTheRequestToAnother) {
  StubServer busy(says(http(429, "", "Retry-After: 50\r\n")));
  // Otherwise all may be answered before the busy one is found to be there
  StubServer server([&](const StubServer::Caller& caller, const Question& question) {
    const auto start = std::chrono::steady_clock::now();
    while (busy.posts() == 0 && seconds_since(start) < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return caller.send(completion(question.prompt() + ", answered"));
  });
  const Outcome outcome = ask({.urls = {busy.url(), server.url()}, .concurrency = 1}, 10);
  EXPECT_TRUE(outcome.each_answered_once());
  EXPECT_EQ(busy.posts(), 1);
}

TEST(Status, OfARefusalConcernsOneRequestAndKeepsTheServersWords) {
  StubServer server([](const StubServer::Caller& caller, const Question& question) {
    if (question.prompt() != "prompt 3") return caller.send(completion(question.prompt() + ", answered"));
    return caller.send(
        http(400, R"({"error": {"message": "maximum context length is 512 tokens\u0007", "code": 400}})"));
  });
  const Outcome outcome = ask({.urls = {server.url()}}, 10);
  ASSERT_TRUE(outcome.run);
  EXPECT_EQ(server.posts(), 10);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(outcome.answers.at(i).has_value(), i != 3);
  EXPECT_EQ(outcome.answers.at(3).error(),
            (Error{ErrorCode::invalid_argument, "HTTP 400: maximum context length is 512 tokens", server.url()}));
}

TEST(Status, OfAWrongKeyUrlOrModelEndsTheRun) {
  for (const auto& [status, advice] : std::map<int, std::string>{{401, "does not accept the API key"},
                                                                 {403, "does not accept the API key"},
                                                                 {404, "call its model \"mm\""}}) {
    StubServer server(says(http(status, R"({"message": "no such thing: )" + kKey + "\"}")));
    const Outcome outcome = ask({.urls = {server.url()}, .model = "mm", .api_key = kKey}, 10);
    ASSERT_FALSE(outcome.run);
    EXPECT_EQ(outcome.run.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(outcome.run.error().where, server.url());
    EXPECT_NE(outcome.run.error().message.find("HTTP " + std::to_string(status) + ": no such thing: [key]"),
              std::string::npos);
    EXPECT_NE(outcome.run.error().message.find(advice), std::string::npos) << outcome.run.error().message;
  }
}

TEST(Status, OfARedirectAtTheFirstContactIsExplained) {
  StubServer server(honest(), 0, http(301, "", "Location: https://elsewhere/v1/models\r\n"));
  const Outcome outcome = ask({.urls = {server.url()}}, 1);
  ASSERT_FALSE(outcome.run);
  EXPECT_NE(outcome.run.error().message.find("redirects to https://elsewhere/v1/models are not followed"),
            std::string::npos);
  EXPECT_EQ(server.posts(), 0);
}

// ---- Chat and tokens ------------------------------------------------------------------------------------------------

TEST(Chat, AnswersAreReadWithAndWithoutContent) {
  StubServer server(
      first({ok(R"({"choices": [{"message": {"role": "assistant", "content": "Paris"}, "finish_reason": "length"}]})"),
             ok(R"({"choices": [{"message": {"content": null}}], "usage": null})")}));
  const Outcome outcome = ask({.urls = {server.url()}, .chat = true, .concurrency = 1}, 2);
  ASSERT_TRUE(outcome.run);
  EXPECT_EQ(outcome.answers.at(0)->text, "Paris");
  EXPECT_EQ(outcome.answers.at(0)->finish, "length");
  EXPECT_EQ(outcome.answers.at(1)->text, "");
  EXPECT_EQ(outcome.answers.at(1)->finish, "");
  EXPECT_EQ(outcome.answers.at(1)->prompt_tokens, 0);
}

TEST(TokenCount, UnderstandsBothKindsOfServer) {
  StubServer llama([](const StubServer::Caller& caller, const Question& question) {
    EXPECT_EQ(question.path, "/tokenize");
    return caller.send(
        ok(question.body == R"({"content":"a b c"})" ? R"({"tokens": [5, 6, 7]})" : R"({"tokens": []})"));
  });
  StubServer vllm([](const StubServer::Caller& caller, const Question& question) {
    const nlohmann::json body = nlohmann::json::parse(question.body);
    if (!body.contains("prompt")) return caller.send(http(400, R"({"error": {"message": "prompt: Field required"}})"));
    EXPECT_EQ(body, nlohmann::json::parse(R"({"prompt": "a b c", "add_special_tokens": false, "model": "m"})"));
    return caller.send(ok(R"({"count": 3, "max_model_len": 512, "tokens": [5, 6, 7]})"));
  });
  EXPECT_EQ(*server_token_count({.urls = {llama.url() + "/v1"}, .model = "m"}, "a b c"), 3);
  EXPECT_EQ(*server_token_count({.urls = {vllm.url()}, .model = "m"}, "a b c"), 3);
}

TEST(TokenCount, IsAskedOfTheNextServerIfOneDoesNotKnow) {
  StubServer plain(says(http(404, ""))), llama(says(ok(R"({"tokens": [1, 2]})")));
  EXPECT_EQ(*server_token_count({.urls = {plain.url(), llama.url()}}, "x"), 2);
  const auto none = server_token_count({.urls = {plain.url()}}, "x");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
}

// Depths are shares of the count: of 0 they were not numbers, and the record was refused in words about JSON.
TEST(TokenCount, OfNothingIsBelievedOfNothingOnly) {
  StubServer server(says(ok(R"({"tokens": [], "count": 0})")));
  const auto count = server_token_count({.urls = {server.url()}}, "two words");
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, ErrorCode::unsupported);
  EXPECT_NE(count.error().message.find("finds no token in a text of 9 bytes"), std::string::npos);
  EXPECT_EQ(*server_token_count({.urls = {server.url()}}, ""), 0);
  EXPECT_EQ(*server_token_count({.urls = {server.url()}}, " \n"), 0);
}

TEST(TokenCount, DoesNotBelieveEverything) {
  for (const char* body :
       {"", "[]", "{}", R"({"count": -1})", R"({"count": "3"})", R"({"count": 1e300})", R"({"tokens": 3})"}) {
    StubServer server(says(ok(body)));
    EXPECT_FALSE(server_token_count({.urls = {server.url()}}, "x")) << body;
  }
  StubServer thief(says(http(500, kKey)));
  const auto stolen = server_token_count({.urls = {thief.url()}, .api_key = kKey}, "x");
  EXPECT_EQ(to_string(stolen.error()).find(kKey), std::string::npos);
  EXPECT_EQ(server_token_count({.urls = {"http://127.0.0.1:" + std::to_string(closed_port())}}, "x").error().code,
            ErrorCode::io);
}

}  // namespace
}  // namespace mrrope::test

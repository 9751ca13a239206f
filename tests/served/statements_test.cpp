// SPDX-License-Identifier: MIT
//
// What is asked for a fingerprint, and what is believed of the answers. The vocabulary is that of bytes.
#include "mrrope/statements.h"

#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

constexpr std::int32_t kBos = 256;

Vocabulary bytes() {
  return {.tokens = [](std::string_view text) -> Result<std::vector<std::int32_t>> {
            std::vector<std::int32_t> out = {kBos};
            for (const char c : text) out.push_back(static_cast<unsigned char>(c));
            return out;
          },
          .text = [](std::span<const std::int32_t> tokens) -> Result<std::string> {
            std::string out;
            for (const std::int32_t token : tokens) {
              if (token < 256) out += static_cast<char>(token);
            }
            return out;
          },
          .named = [](std::string_view text) -> std::optional<std::int32_t> {
            if (text.size() != 1) return std::nullopt;
            return static_cast<unsigned char>(text[0]);
          },
          .size = 257};
}

// Answers as llama-server does: `answer` tokens of number 97, each with two chances.
nlohmann::json answer_of(const nlohmann::json& asked, std::int64_t count_off, std::int32_t id) {
  nlohmann::json content = nlohmann::json::array();
  for (int i = 0; i < asked.at("max_tokens").get<int>(); ++i) {
    const nlohmann::json a = {{"id", id}, {"token", "a"}, {"logprob", -0.5}};
    const nlohmann::json b = {{"id", 98}, {"token", "b"}, {"logprob", -1.5}};
    nlohmann::json place = a;
    place["top_logprobs"] = nlohmann::json::array({a, b});
    content.push_back(place);
  }
  const auto prompt = static_cast<std::int64_t>(asked.at("prompt").size());
  return {{"choices", nlohmann::json::array({{{"text", "a"}, {"logprobs", {{"content", content}}}}})},
          {"usage", {{"prompt_tokens", prompt + count_off}}}};
}

struct Asked {
  Result<Statements> said;
  std::vector<nlohmann::json> questions;
};
Asked asked_of_llama_server(std::int64_t count_off = 0, std::int32_t id = 97) {
  std::vector<nlohmann::json> questions;
  StubServer server([&](const StubServer::Caller& caller, const Question& question) {
    questions.push_back(nlohmann::json::parse(question.body));
    return caller.send(ok(answer_of(questions.back(), count_off, id).dump()));
  });
  const ServerInfo info{.software = "llama.cpp", .model = "m", .takes_token_ids = true};
  Result<Statements> said = collect_statements({.urls = {server.url()}}, info, bytes(), {.longest = 256, .texts = 2});
  return {std::move(said), std::move(questions)};
}

TEST(Statements, AreAskedForWithListsOfTokensWithinTheirBounds) {
  const Asked asked = asked_of_llama_server();
  ASSERT_TRUE(asked.said) << to_string(asked.said.error());
  const StatementOptions options{.longest = 256, .texts = 2};
  EXPECT_EQ(asked.said->requests, static_cast<int>(asked.questions.size()));
  EXPECT_LE(asked.said->requests, statement_requests(options));
  EXPECT_LE(asked.said->prompt_tokens, statement_tokens(options));
  for (const nlohmann::json& question : asked.questions) {
    EXPECT_TRUE(question.at("prompt").is_array());
    EXPECT_LE(question.at("prompt").size(), 256);
  }
  EXPECT_LE(statement_requests({}), 40);  // by default
}

TEST(Statements, OfAServerThatRefusesEverySpellingOfTheWishAreNone) {
  // transformers serve 5.22.2
  StubServer server(says(http(422, R"({"detail":"Unexpected fields in the request: {'top_logprobs'}"})")));
  const auto said = collect_statements({.urls = {server.url()}}, {.model = "m"}, bytes(), {.longest = 256, .texts = 2});
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::unsupported);
  EXPECT_EQ(said.error().message.find("the server gives no log probabilities: HTTP 422"), 0U) << said.error().message;
  EXPECT_EQ(server.posts(), 2);
}

TEST(Statements, HoldWhatFollowedAndItsRows) {
  const Asked asked = asked_of_llama_server();
  ASSERT_TRUE(asked.said) << to_string(asked.said.error());
  std::size_t singles = 0;
  for (const probe::Statement& one : asked.said->statements) {
    ASSERT_FALSE(one.rows.empty());
    for (const probe::Row& row : one.rows) {
      EXPECT_LE(row.at, one.tokens.size());
      EXPECT_EQ(row.tokens, (std::vector<std::int32_t>{97, 98}));
      EXPECT_EQ(row.log_p, (std::vector<double>{-0.5, -1.5}));
    }
    if (one.rows.back().at == 1) ++singles;
    else EXPECT_EQ(one.tokens[one.rows.back().at], 97);  // the answer is part of what the next row is about
  }
  EXPECT_EQ(singles, 6);
  EXPECT_EQ(asked.said->statements.size(), 6 + 2 * 8);
}

TEST(Statements, OfAServerThatReadsOtherTokensAreNone) {
  for (const std::int64_t off : {-1, 1, 200}) {
    const Asked asked = asked_of_llama_server(off);
    ASSERT_FALSE(asked.said);
    EXPECT_EQ(asked.said.error().code, ErrorCode::unsupported);
    EXPECT_NE(asked.said.error().message.find("another model"), std::string::npos);
  }
}

TEST(Statements, WithTokensThatTheModelDoesNotHaveAreNone) {
  const Asked asked = asked_of_llama_server(0, 257);
  ASSERT_FALSE(asked.said);
  EXPECT_EQ(asked.said.error().code, ErrorCode::unsupported);
}

TEST(Statements, OfAServerWithoutLogProbabilitiesAreNone) {
  StubServer server([](const StubServer::Caller& caller, const Question&) { return caller.send(completion("x")); });
  const auto said = collect_statements({.urls = {server.url()}}, {}, bytes(), {.longest = 256});
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::unsupported);
}

TEST(Statements, AskMlxLmAsItWantsToBeAsked) {
  StubServer server([](const StubServer::Caller& caller, const Question& question) {
    nlohmann::json asked = nlohmann::json::parse(question.body);
    if (!asked.at("logprobs").is_boolean())
      return caller.send(http(400, R"({"error":"logprobs must be of type bool"})"));
    EXPECT_TRUE(asked.at("prompt").is_string());
    EXPECT_EQ(asked.at("max_tokens"), 1);
    EXPECT_LE(asked.at("top_logprobs").get<int>(), 11);
    nlohmann::json answer = answer_of(asked, 0, 97);
    answer["usage"]["prompt_tokens"] = asked.at("prompt").get<std::string>().size() + 1;
    return caller.send(ok(answer.dump()));
  });
  const auto said = collect_statements({.urls = {server.url()}}, {}, bytes(), {.longest = 256, .texts = 1});
  ASSERT_TRUE(said) << to_string(said.error());
  EXPECT_EQ(said->statements.size(), 6 + 8);
}

TEST(Statements, LiesAreErrorsWithoutTheKey) {
  const ServerInfo info{.software = "llama.cpp", .model = "m", .takes_token_ids = true};
  for (const Lie& lie : lies()) {
    StubServer server(says(lie.bytes));
    const auto said = collect_statements({.urls = {server.url()}, .api_key = kKey, .deadline_s = 1}, info, bytes(),
                                         {.longest = 256, .texts = 1});
    ASSERT_FALSE(said) << lie.name;
    EXPECT_EQ(to_string(said.error()).find(kKey), std::string::npos) << lie.name;
  }
}

}  // namespace
}  // namespace mrrope::test

// SPDX-License-Identifier: MIT
//
// One question: log probabilities in both shapes, refusals and what they name.
#include "mrrope/ask_server.h"

#include <fstream>

#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

Result<ServerReply> reply_to(const std::string& bytes, const ServerQuestion& question = {.prompt = "x", .top = 2}) {
  StubServer server(says(bytes));
  return ask_server({.urls = {server.url()}, .api_key = kKey, .deadline_s = 1}, question);
}

TEST(Ask, ReadsLogProbabilitiesInBothShapes) {
  const std::vector<TokenChance> expected = {{" a", std::nullopt, -0.5}, {" b", std::nullopt, -2}};
  const auto openai = reply_to(ok(R"({"choices":[{"text":" a","logprobs":{"top_logprobs":[{" b":-2,"  ":-9,)"
                                  R"(" a":-0.5}]}}],"usage":{"prompt_tokens":3,"completion_tokens":1}})"));
  ASSERT_TRUE(openai);
  EXPECT_EQ(openai->top.at(0).at(0), expected[0]);
  EXPECT_EQ(openai->top.at(0).at(1), expected[1]);
  EXPECT_EQ(openai->prompt_tokens, 3);
  const auto llama =
      reply_to(ok(R"({"choices":[{"text":" a","logprobs":{"content":[{"token":" a","logprob":-0.5,"top_logprobs":)"
                  R"([{"token":" a","logprob":-0.5},{"token":" b","logprob":-2}]}]}}]})"));
  EXPECT_EQ(llama->top.at(0), expected);
  EXPECT_FALSE(llama->prompt_tokens);
}

TEST(Ask, DoesNotBelieveLogProbabilitiesThatCannotBe) {
  for (const char* value : {"1", "\"-1\"", "null", "{}"}) {
    const auto reply =
        reply_to(ok(std::string(R"({"choices":[{"text":"a","logprobs":{"top_logprobs":[{"a":)") + value + "}]}}]}"));
    ASSERT_TRUE(reply) << value;
    EXPECT_TRUE(reply->top.empty()) << value;
  }
}

TEST(Ask, ARefusalIsAnAnswerWithItsNumbers) {
  for (const int status : {400, 413, 422, 500}) {
    const auto reply = reply_to(http(status, R"({"error":{"message":"600 tokens exceed 512, )" + kKey + "\"}}"));
    ASSERT_TRUE(reply) << status;
    EXPECT_TRUE(reply->refused());
    EXPECT_EQ(reply->said.find(kKey), std::string::npos);
    EXPECT_EQ(reply->numbers.at(0), 600);
    EXPECT_EQ(reply->numbers.at(1), 512);
  }
  for (const int status : {401, 403, 404, 302, 408, 502}) EXPECT_FALSE(reply_to(http(status, ""))) << status;
}

TEST(Ask, SendsTokensAndWhatServersKnow) {
  nlohmann::json seen;
  StubServer server([&](const StubServer::Caller& caller, const Question& question) {
    seen = nlohmann::json::parse(question.body);
    return caller.send(completion("x"));
  });
  ASSERT_TRUE(ask_server({.urls = {server.url()}, .model = "m"},
                         {.tokens = {1, 2, 3}, .top = 5, .past_end = true, .cache_prompt = false, .cache_salt = "s"}));
  EXPECT_EQ(seen, nlohmann::json::parse(R"({"model":"m","prompt":[1,2,3],"max_tokens":1,"temperature":0,"stream":false,
      "logprobs":5,"return_tokens_as_token_ids":true,"ignore_eos":true,"cache_prompt":false,"cache_salt":"s"})"));
}

// What real servers said, as it was recorded (tests/servers/answers): one JSON per question.
Result<ServerReply> recorded(const std::string& name, ServerQuestion question) {
  std::ifstream file(std::string(MRROPE_ANSWERS) + "/" + name + ".json");
  const nlohmann::json record = nlohmann::json::parse(file);
  return reply_to(http(record.at("status"), record.at("answer").dump()), question);
}

TEST(Ask, LlamaServerNamesTheTokensOfItsAnswer) {
  const auto reply = recorded("llama-server-completion-several", {.prompt = "x", .max_tokens = 8, .top = 5});
  ASSERT_TRUE(reply) << to_string(reply.error());
  ASSERT_FALSE(reply->chosen.empty());
  EXPECT_EQ(reply->chosen.size(), reply->top.size());
  for (const TokenChance& chance : reply->chosen) EXPECT_TRUE(chance.id);
  for (const auto& row : reply->top) {
    for (const TokenChance& chance : row) EXPECT_TRUE(chance.id && chance.log_probability <= 0);
  }
}

TEST(Ask, VllmTellsAllPlacesOfAPrompt) {
  const auto reply =
      recorded("vllm-prompt-logprobs", {.tokens = {256, 84, 104, 101, 32, 110}, .top = 3, .whole_prompt = true});
  ASSERT_TRUE(reply) << to_string(reply.error());
  ASSERT_EQ(reply->prompt_top.size(), 6);
  EXPECT_TRUE(reply->prompt_top[0].empty());  // nothing comes before the first
  EXPECT_EQ(reply->prompt_top[1].at(0).id, 32);
  EXPECT_NEAR(reply->prompt_top[1].at(0).log_probability, -1.7622110843658447, 1e-12);
  EXPECT_EQ(reply->prompt_top[5].size(), 4);  // the prompt's own token is the fifth likeliest
}

TEST(Ask, VllmNamesTokensByTheirNumbers) {
  const auto reply = recorded("vllm-completion", {.prompt = "x", .top = 5});
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->chosen.at(0).id, 49);
  EXPECT_EQ(reply->top.at(0).at(1).id, 55);
}

TEST(Ask, ServersThatIgnoreTheQuestionGiveNone) {
  for (const char* name : {"transformers-serve-completion-logprobs-ignored", "llama-server-completion-none"}) {
    const auto reply = recorded(name, {.prompt = "x", .top = 5});
    ASSERT_TRUE(reply) << name;
    EXPECT_TRUE(reply->top.empty()) << name;
    EXPECT_TRUE(reply->chosen.empty()) << name;
  }
}

TEST(Ask, NumbersOfTokensThatCannotBeAreNotBelieved) {
  for (const char* id : {"-1", "1.5", "99999999999", "\"7\""}) {
    const auto reply = reply_to(ok(std::string(R"({"choices":[{"text":"a","logprobs":{"content":[{"id":)") + id +
                                   R"(,"token":"a","logprob":-1,"top_logprobs":[{"id":)" + id +
                                   R"(,"token":"a","logprob":-1}]}]}}]})"));
    ASSERT_TRUE(reply) << id;
    EXPECT_TRUE(reply->top.empty()) << id;
  }
}

TEST(Ask, LiesAreErrorsWithoutTheKey) {
  for (const Lie& lie : lies()) {
    const auto reply = reply_to(lie.bytes);
    const std::string text = reply ? reply->said + reply->text : to_string(reply.error());
    EXPECT_EQ(text.find(kKey), std::string::npos) << lie.name;
    EXPECT_FALSE(reply && reply->answered()) << lie.name;
  }
}

}  // namespace
}  // namespace mrrope::test

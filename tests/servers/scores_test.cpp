// SPDX-License-Identifier: MIT
//
// How likely the tokens of a prompt are: what is asked, what is believed, and where a lie is.
#include <fstream>

#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

const std::vector<std::int32_t> kTokens = {256, 84, 104, 101};

struct Scored {
  Result<void> run;
  Result<ServerAnswer> answer = Error{};
  nlohmann::json asked;
  std::string path;
};

// One request for `tokens` to a server that says `bytes` whatever it is asked.
Scored score(PromptScores scores, const std::string& bytes, const std::vector<std::int32_t>& tokens = kTokens,
             bool fills_context = false) {
  Scored out;
  StubServer server([&](const StubServer::Caller& caller, const Question& question) {
    out.asked = nlohmann::json::parse(question.body);
    out.path = question.path;
    caller.send(bytes);
    return false;
  });
  out.run = run_requests(
      {.urls = {server.url()}, .model = "m", .api_key = kKey, .scores = scores, .attempts = 1}, 1,
      [&](std::size_t) -> Result<ServerRequest> {
        return ServerRequest{.tokens = tokens, .fills_context = fills_context};
      },
      [&](std::size_t, const Result<ServerAnswer>& answer) -> Result<void> {
        out.answer = answer;
        return {};
      });
  return out;
}

// Without the beginning of what the server said, which follows.
std::string error_of(PromptScores scores, const std::string& body) {
  const Scored out = score(scores, ok(body));
  if (!out.run) return to_string(out.run.error());
  return out.answer ? "answered" : out.answer.error().message.substr(0, out.answer.error().message.find(": {"));
}

// What a real server said, as it was recorded.
nlohmann::json recorded(const std::string& name) {
  std::ifstream file(std::string(MRROPE_ANSWERS) + "/" + name + ".json");
  return nlohmann::json::parse(file);
}

// ---- vLLM -----------------------------------------------------------------------------------------------------------

TEST(Scores, OfVllmAreThoseOfTheTokensThatWereSent) {
  const nlohmann::json record = recorded("vllm-prompt-logprobs");
  const Scored out = score(PromptScores::vllm, ok(record.at("answer").dump()), record["request"]["body"]["prompt"]);
  ASSERT_TRUE(out.run && out.answer);
  ASSERT_EQ(out.answer->scores.size(), 5);
  EXPECT_EQ(out.answer->scores[0], -2.5821120738983154);  // the third likeliest there
  EXPECT_EQ(out.answer->scores[1], -0.0075266119092702866);
  EXPECT_EQ(out.answer->text, "");  // nobody asked for one
}

TEST(Scores, AreAskedOfVllmInFewWords) {
  const Scored out = score(PromptScores::vllm, ok("{}"));
  EXPECT_EQ(out.path, "/v1/completions");
  EXPECT_EQ(out.asked, nlohmann::json::parse(R"({"model": "m", "prompt": [256, 84, 104, 101], "max_tokens": 1,
      "temperature": 0, "prompt_logprobs": 0, "stream": false})"));
}

TEST(Scores, OfAFullContextAreAskedOfVllmWithTheLastTokenAsTheAnswer) {
  const Scored out = score(PromptScores::vllm, ok(R"({"choices": [{"prompt_logprobs": [null, {"84": {"logprob": -1}},
          {"104": {"logprob": -2}}], "logprobs": {"top_logprobs": [{"token_id:7": -0.1, "token_id:101": -3}]}}]})"),
                           kTokens, true);
  EXPECT_EQ(out.asked, nlohmann::json::parse(R"({"model": "m", "prompt": [256, 84, 104], "max_tokens": 1,
      "temperature": 0, "prompt_logprobs": 0, "logprobs": 0, "logprob_token_ids": [101],
      "return_tokens_as_token_ids": true, "stream": false})"));
  ASSERT_TRUE(out.run && out.answer);
  EXPECT_EQ(out.answer->scores, (std::vector<double>{-1, -2, -3}));
}

// The same prompt, asked about in both ways.
TEST(Scores, OfAFullContextAreThoseOfTheWholePromptByVllm) {
  const nlohmann::json full = recorded("vllm-full-context"), whole = recorded("vllm-prompt-logprobs");
  const std::vector<std::int32_t> tokens = whole["request"]["body"]["prompt"];
  const Scored a = score(PromptScores::vllm, ok(whole.at("answer").dump()), tokens);
  const Scored b = score(PromptScores::vllm, ok(full.at("answer").dump()), tokens, true);
  ASSERT_TRUE(a.answer && b.answer);
  EXPECT_EQ(a.answer->scores, b.answer->scores);
  nlohmann::json asked = full["request"]["body"];
  asked["model"] = "m";
  EXPECT_EQ(b.asked, asked);
}

TEST(Scores, OfAFullContextAreNothingWithoutTheLast) {
  const std::string prompt = R"({"choices": [{"prompt_logprobs": [null, {"84": {"logprob": -1}},
      {"104": {"logprob": -2}}], "logprobs": )";
  for (const char* last : {"null}]}", R"({"top_logprobs": []}}]})", R"({"top_logprobs": [{"token_id:7": -1}]}}]})",
                           R"({"top_logprobs": [{"token_id:101": 1}]}}]})", R"({"top_logprobs": [[]]}}]})"}) {
    const Scored out = score(PromptScores::vllm, ok(prompt + last), kTokens, true);
    ASSERT_TRUE(out.run) << last;
    ASSERT_FALSE(out.answer) << last;
    EXPECT_NE(out.answer.error().message.find("choices[0].logprobs"), std::string::npos) << out.answer.error().message;
  }
}

// ---- SGLang ---------------------------------------------------------------------------------------------------------

TEST(Scores, AreAskedOfSglangByItsOwnEndpoint) {
  const Scored out = score(PromptScores::sglang, ok(R"({"text": "x", "meta_info": {"prompt_tokens": 4,
      "input_token_logprobs": [[null, 256, null], [-1.5, 84, null], [-2.5, 104, "h"], [-3.5, 101]]}})"));
  EXPECT_EQ(out.path, "/generate");
  EXPECT_EQ(out.asked, nlohmann::json::parse(R"({"input_ids": [256, 84, 104, 101], "return_logprob": true,
      "logprob_start_len": 0, "sampling_params": {"max_new_tokens": 1, "temperature": 0}, "stream": false})"));
  ASSERT_TRUE(out.run && out.answer);
  EXPECT_EQ(out.answer->scores, (std::vector<double>{-1.5, -2.5, -3.5}));
}

TEST(Scores, OfAFullContextAreAskedOfSglangWithTheLastTokenAsTheAnswer) {
  const Scored out = score(PromptScores::sglang, ok(R"({"meta_info": {"input_token_logprobs": [[null, 256, null],
      [-1, 84, null], [-2, 104, null]], "output_token_ids_logprobs": [[[-3, 101, null]]]}})"),
                           kTokens, true);
  EXPECT_EQ(out.asked.at("input_ids"), nlohmann::json::parse("[256, 84, 104]"));
  EXPECT_EQ(out.asked.at("token_ids_logprob"), nlohmann::json::parse("[101]"));
  ASSERT_TRUE(out.run && out.answer);
  EXPECT_EQ(out.answer->scores, (std::vector<double>{-1, -2, -3}));
}

// ---- Lies -----------------------------------------------------------------------------------------------------------

// The values after the first, in the place of {"84": …}, {"104": …}, {"101": …}.
std::string vllm_says(const std::string& values) {
  return R"({"choices": [{"text": "x", "prompt_logprobs": [null, )" + values + "]}]}";
}
std::string sglang_says(const std::string& values) {
  return R"({"meta_info": {"input_token_logprobs": [[null, 256, null], )" + values + "]}}";
}

TEST(Scores, ThatAreTooFewOrTooManyAreRefused) {
  const std::string a = R"({"84": {"logprob": -1}}, {"104": {"logprob": -1}})", b = R"(, {"101": {"logprob": -1}})";
  EXPECT_EQ(error_of(PromptScores::vllm, vllm_says(a + b)), "answered");
  EXPECT_EQ(error_of(PromptScores::vllm, vllm_says(a)), "choices[0].prompt_logprobs: expected 4 values, found 3");
  EXPECT_EQ(error_of(PromptScores::vllm, vllm_says(a + b + b)),
            "choices[0].prompt_logprobs: expected 4 values, found 5");
  EXPECT_EQ(error_of(PromptScores::sglang, sglang_says("[-1, 84]")),
            "meta_info.input_token_logprobs: expected 4 values, found 2");
}

TEST(Scores, ThatAreNoLogProbabilitiesAreRefusedWithTheirPlace) {
  const std::string place = "choices[0].prompt_logprobs[2]: ";
  for (const auto& [value, problem] : std::map<std::string, std::string>{
           {"0.7", "expected a log probability, found 0.7"},
           {"null", "expected a log probability, found null"},
           {"\"-1\"", "expected a log probability, found a string"},
           {"-9999.0", "the server writes -9999, which is no probability at all"},
           {"-1e300", "the server writes -1e+300, which is no probability at all"},
       }) {
    EXPECT_EQ(error_of(PromptScores::vllm, vllm_says(R"({"84": {"logprob": -1}}, {"104": {"logprob": )" + value +
                                                     R"(}}, {"101": {"logprob": -1}})")),
              place + problem);
    EXPECT_EQ(error_of(PromptScores::sglang, sglang_says("[-1, 84], [" + value + ", 104], [-1, 101]")),
              "meta_info.input_token_logprobs[2]: " + problem);
  }
  // What Python writes is no JSON
  for (const char* value : {"NaN", "-Infinity", "1e999"}) {
    const std::string said =
        error_of(PromptScores::vllm, vllm_says(R"({"84": {"logprob": )" + std::string(value) + "}}"));
    EXPECT_NE(said.find("no JSON"), std::string::npos) << said;
  }
  // A rounding above 0 is one
  const Scored out = score(PromptScores::vllm, ok(vllm_says(R"({"84": {"logprob": 2.4e-7}}, {"104": {"logprob": -0.0}},
      {"101": {"logprob": -1}})")));
  ASSERT_TRUE(out.answer);
  EXPECT_EQ(out.answer->scores, (std::vector<double>{0, 0, -1}));
}

TEST(Scores, OfOtherTokensAreRefused) {
  EXPECT_EQ(error_of(PromptScores::vllm, vllm_says(R"({"84": {"logprob": -1}}, {"105": {"logprob": -1}},
      {"101": {"logprob": -1}})")),
            "choices[0].prompt_logprobs[2]: expected token 104, found token 105");
  EXPECT_EQ(error_of(PromptScores::vllm, vllm_says(R"({}, {}, {})")),
            "choices[0].prompt_logprobs[1]: expected token 84, found none");
  EXPECT_EQ(error_of(PromptScores::sglang, sglang_says("[-1, 84], [-1, 105], [-1, 101]")),
            "meta_info.input_token_logprobs[2]: expected token 104, found another");
  for (const char* value : {"null", "5", "[]", "{\"84\": 1}", "{\"84\": {}}"}) {
    const std::string said = error_of(PromptScores::vllm, vllm_says(std::string(value) + ", {}, {}"));
    EXPECT_EQ(said.find("choices[0].prompt_logprobs[1]"), 0U) << said;
  }
  for (const char* value : {"null", "5", "[]", "[-1]", "{}", "[-1, null]", "[-1, \"84\"]"}) {
    const std::string said = error_of(PromptScores::sglang, sglang_says(std::string(value) + ", 0, 0"));
    EXPECT_EQ(said.find("meta_info.input_token_logprobs[1]"), 0U) << said;
  }
}

TEST(Scores, AreNotWaitedForWithoutEnd) {
  const std::string bytes = "HTTP/1.1 200 OK\r\n\r\n" + std::string((std::size_t{8} << 20) + 4 * 256 + 1, ' ');
  const Scored out = score(PromptScores::vllm, bytes);
  ASSERT_TRUE(out.run);
  EXPECT_EQ(out.answer.error().message, "the answer has more than 8389632 bytes");
}

// An answer of 100,000 tokens has more than the 8 MiB of an answer in words.
TEST(Scores, OfALongPromptMayHaveManyBytes) {
  const std::vector<std::int32_t> tokens(100'000, 7);
  std::string body = R"({"choices": [{"prompt_logprobs": [null)";
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    body += R"(, {"7": {"logprob": -2.5821120738983154, "rank": 30000, "decoded_token": " counterrevolutionaries"}})";
  }
  body += "]}]}";
  ASSERT_GT(body.size(), std::size_t{8} << 20);
  const Scored out = score(PromptScores::vllm, ok(body), tokens);
  ASSERT_TRUE(out.run);
  ASSERT_TRUE(out.answer) << to_string(out.answer.error());
  EXPECT_EQ(out.answer->scores.size(), tokens.size() - 1);
}

TEST(Scores, ThatAreLeftOutEndTheRunWithTheNamesOfThoseThatGiveThem) {
  for (const char* name : {"llama-server-completion-echo-ignored", "mlx-lm-completion"}) {
    const Scored out = score(PromptScores::vllm, ok(recorded(name).at("answer").dump()));
    ASSERT_FALSE(out.run) << name;
    EXPECT_EQ(out.run.error().code, ErrorCode::unsupported);
    EXPECT_NE(out.run.error().message.find("which vLLM and SGLang do"), std::string::npos);
  }
}

TEST(Scores, OfLiesAreErrorsWithoutTheKey) {
  for (const PromptScores scores : {PromptScores::vllm, PromptScores::sglang}) {
    for (const Lie& lie : lies()) {
      const Scored out = score(scores, lie.bytes);
      const std::string text =
          out.run ? out.answer ? "answered" : to_string(out.answer.error()) : to_string(out.run.error());
      EXPECT_NE(text, "answered") << lie.name;
      EXPECT_EQ(text.find(kKey), std::string::npos) << lie.name;
    }
  }
}

TEST(Scores, NeedTwoTokens) {
  const Scored out = score(PromptScores::vllm, ok("{}"), {1});
  ASSERT_FALSE(out.answer);
  EXPECT_EQ(out.answer.error().where, "tokens");
}

// ---- Tokens ---------------------------------------------------------------------------------------------------------

Result<std::vector<std::int32_t>> tokens_of(const std::string& bytes, nlohmann::json* asked = nullptr) {
  StubServer server([&](const StubServer::Caller& caller, const Question& question) {
    if (asked != nullptr) *asked = nlohmann::json::parse(question.body);
    return caller.send(bytes);
  });
  return server_tokens({.urls = {server.url()}, .model = "m", .api_key = kKey}, "abc", true);
}

TEST(ServerTokens, AreThoseThatVllmMakesOfAText) {
  nlohmann::json asked;
  const auto tokens = tokens_of(ok(recorded("vllm-tokenize").at("answer").dump()), &asked);
  ASSERT_TRUE(tokens) << to_string(tokens.error());
  EXPECT_EQ(*tokens, (std::vector<std::int32_t>{97, 98, 99}));
  EXPECT_EQ(asked, nlohmann::json::parse(R"({"model": "m", "prompt": "abc", "add_special_tokens": true})"));
}

TEST(ServerTokens, ThatAreNoNumbersOfTokensAreRefused) {
  for (const char* said : {R"({"tokens": [1, -1]})", R"({"tokens": [1, 2147483648]})", R"({"tokens": [1, 1.5]})",
                           R"({"tokens": [1, "2"]})", R"({"tokens": [1, null]})"}) {
    const auto tokens = tokens_of(ok(said));
    ASSERT_FALSE(tokens) << said;
    EXPECT_EQ(tokens.error().code, ErrorCode::malformed);
    EXPECT_NE(tokens.error().message.find("tokens[1]"), std::string::npos);
  }
  for (const char* said : {R"({"count": 3})", R"({"tokens": 3})", "[]", "x"}) {
    EXPECT_EQ(tokens_of(ok(said)).error().code, ErrorCode::unsupported) << said;
  }
  EXPECT_EQ(tokens_of(http(404, kKey)).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace mrrope::test

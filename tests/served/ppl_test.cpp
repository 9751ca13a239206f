// SPDX-License-Identifier: MIT
//
// Perplexity on servers: whose log probabilities become which sums. The stub scores token t at place i with
// -(t + i) / 64, so that every sum can be written down.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "mrrope/served.h"
#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

namespace fs = std::filesystem;
using eval::RunFolder;
using eval::ServedText;

double score(std::int32_t token, std::size_t place) {
  return -(static_cast<double>(token) + static_cast<double>(place)) / 64;
}

// What vLLM says to a prompt of tokens; `last`: a token more, asked for as the answer.
std::string vllm_answer(const nlohmann::json& asked) {
  const auto prompt = asked.at("prompt").get<std::vector<std::int32_t>>();
  nlohmann::json values = nlohmann::json::array({nullptr});
  for (std::size_t i = 1; i < prompt.size(); ++i) {
    values.push_back({{std::to_string(prompt[i]), {{"logprob", score(prompt[i], i)}}}});
  }
  nlohmann::json choice = {{"text", "x"}, {"prompt_logprobs", values}};
  if (asked.contains("logprob_token_ids")) {
    const std::int32_t last = asked["logprob_token_ids"][0];
    choice["logprobs"] = {
        {"top_logprobs", nlohmann::json::array({{{"token_id:" + std::to_string(last), score(last, prompt.size())}}})}};
  }
  return ok(nlohmann::json{{"choices", nlohmann::json::array({choice})}}.dump());
}

std::string models(const std::string& owner, int length) {
  return http(200, R"({"data": [{"id": "m", "owned_by": ")" + owner + R"(", "max_model_len": )" +
                       std::to_string(length) + "}]}");
}

ServedText text_of(const std::string& name, std::size_t tokens) {
  ServedText text{name, eval::content_hash(name), {}};
  for (std::size_t i = 0; i < tokens; ++i) text.tokens.push_back(static_cast<std::int32_t>(i * 7 % 61));
  return text;
}

class ServedPpl : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  RunFolder open() {
    auto run = RunFolder::open(folder_.string(),
                               {.task = "ppl", .model = "m", .model_hash = "h", .architecture = "", .engine = "e"});
    if (!run) throw std::runtime_error(to_string(run.error()));
    return *std::move(run);
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "mrrope-served-ppl";
};

TEST_F(ServedPpl, SumsEveryTokenButTheFirstAtEveryLengthThatTheTextReaches) {
  std::mutex guard;  // of `asked`: texts are asked about side by side
  std::vector<nlohmann::json> asked;
  StubServer server(
      [&](const StubServer::Caller& caller, const Question& question) {
        nlohmann::json body = nlohmann::json::parse(question.body);
        const std::string answer = vllm_answer(body);
        const std::scoped_lock lock(guard);
        asked.push_back(std::move(body));
        return caller.send(answer);
      },
      0, models("vllm", 4096));
  const auto scoring = eval::scoring_servers({.urls = {server.url()}, .model = "m"});
  ASSERT_TRUE(scoring) << to_string(scoring.error());
  EXPECT_EQ(scoring->servers.scores, PromptScores::vllm);
  RunFolder run = open();
  const std::vector<ServedText> texts = {text_of("a", 700), text_of("b", 1200), text_of("short", 100)};
  const auto cost = measure_served_ppl(*scoring, "mrrope-pro", texts, {256, 600, 1200}, run);
  ASSERT_TRUE(cost) << to_string(cost.error());
  EXPECT_EQ(cost->answered, 2);
  EXPECT_EQ(cost->failed, 0);
  EXPECT_EQ(cost->asked.size(), 2);
  ASSERT_EQ(run.records().size(), 2);
  for (const eval::Record& record : run.records()) {
    const ServedText& text = record.document == "a" ? texts[0] : texts[1];
    EXPECT_EQ(record.task, "ppl");
    EXPECT_EQ(record.method, "mrrope-pro");
    EXPECT_EQ(record.document_hash, text.hash);
    const eval::Reading& reading = *record.reading();
    const std::size_t longest = record.document == "a" ? 600 : 1200;
    ASSERT_EQ(reading.points.size(), record.document == "a" ? 2 : 3);
    for (const auto& point : reading.points) {
      double nll = 0;
      for (std::size_t i = 1; i < static_cast<std::size_t>(point.length); ++i) nll -= score(text.tokens[i], i);
      EXPECT_EQ(point.predicted, point.length - 1);
      EXPECT_NEAR(point.nll, nll, 1e-9);
    }
    EXPECT_EQ(reading.bucket, 256);
    ASSERT_EQ(reading.bucket_nll.size(), (longest + 255) / 256);
    double second = 0;  // tokens 256 … 511
    for (std::size_t i = 256; i < 512; ++i) second -= score(text.tokens[i], i);
    EXPECT_NEAR(reading.bucket_nll[1], second, 1e-9);
    EXPECT_TRUE(reading.inv_freq.empty());  // nobody said
  }
  // One request for each, no longer than is scored
  ASSERT_EQ(asked.size(), 2);
  EXPECT_EQ(asked[0]["prompt"].size() + asked[1]["prompt"].size(), 600 + 1200);
}

TEST_F(ServedPpl, OfATextAsLongAsTheContextHasItsLastTokenToo) {
  nlohmann::json asked;
  StubServer server(
      [&](const StubServer::Caller& caller, const Question& question) {
        asked = nlohmann::json::parse(question.body);
        return caller.send(vllm_answer(asked));
      },
      0, models("vllm", 512));
  const auto scoring = eval::scoring_servers({.urls = {server.url()}, .model = "m"});
  ASSERT_TRUE(scoring);
  RunFolder run = open();
  const std::vector<ServedText> texts = {text_of("a", 512)};
  ASSERT_TRUE(measure_served_ppl(*scoring, "none", texts, {512}, run));
  EXPECT_EQ(asked["prompt"].size(), 511);
  double nll = 0;
  for (std::size_t i = 1; i < 512; ++i) nll -= score(texts[0].tokens[i], i);
  EXPECT_EQ(run.records().at(0).reading()->points.at(0).predicted, 511);
  EXPECT_NEAR(run.records().at(0).reading()->points.at(0).nll, nll, 1e-9);
}

TEST_F(ServedPpl, IsNotAskedForAgain) {
  StubServer server(
      [](const StubServer::Caller& caller, const Question& question) {
        return caller.send(vllm_answer(nlohmann::json::parse(question.body)));
      },
      0, models("vllm", 4096));
  const auto scoring = eval::scoring_servers({.urls = {server.url()}, .model = "m"});
  ASSERT_TRUE(scoring);
  const std::vector<ServedText> texts = {text_of("a", 300), text_of("b", 300)};
  {
    RunFolder run = open();
    ASSERT_TRUE(measure_served_ppl(*scoring, "yarn", {texts.data(), 1}, {256}, run));
  }
  RunFolder run = open();
  ASSERT_TRUE(measure_served_ppl(*scoring, "yarn", texts, {256}, run));
  EXPECT_EQ(server.posts(), 2);
  ASSERT_TRUE(measure_served_ppl(*scoring, "mrrope-pro", texts, {256}, run));  // another plan is another measurement
  EXPECT_EQ(server.posts(), 4);
  EXPECT_EQ(run.records().size(), 4);
}

TEST_F(ServedPpl, OfAServerThatLiesIsCountedAsFailedWithItsPlaceAndLeavesNoRecord) {
  StubServer server(
      [](const StubServer::Caller& caller, const Question& question) {
        nlohmann::json asked = nlohmann::json::parse(question.body);
        if (asked["prompt"].size() == 300) asked["prompt"][17] = 60;  // another text
        return caller.send(vllm_answer(asked));
      },
      0, models("vllm", 4096));
  auto scoring = eval::scoring_servers({.urls = {server.url()}, .model = "m", .attempts = 2});
  ASSERT_TRUE(scoring);
  RunFolder run = open();
  const std::vector<ServedText> texts = {text_of("a", 300), text_of("b", 256)};
  const auto cost = measure_served_ppl(*scoring, "yarn", texts, {256, 300}, run);
  ASSERT_TRUE(cost) << to_string(cost.error());
  EXPECT_EQ(cost->failed, 1);
  EXPECT_EQ(cost->answered, 1);
  ASSERT_TRUE(cost->first_failure);
  EXPECT_NE(cost->first_failure->message.find("a: choices[0].prompt_logprobs[17]: expected token 58, found token 60"),
            std::string::npos)
      << cost->first_failure->message;
  ASSERT_EQ(run.records().size(), 1);
  EXPECT_EQ(run.records()[0].document, "b");
}

// ---- Which servers --------------------------------------------------------------------------------------------------

TEST(ScoringServers, AreAskedInTheirOwnWay) {
  StubServer sglang(honest(), 0, "", {{"/v1/models", models("sglang", 100)}, {"/server_info", ok("{}")}});
  EXPECT_EQ(eval::scoring_servers({.urls = {sglang.url()}})->servers.scores, PromptScores::sglang);
  StubServer gateway(honest(), 0, "", {{"/v1/models", ok(R"({"data": [{"id": "m", "owned_by": "openai"}]})")}});
  const auto unknown = eval::scoring_servers({.urls = {gateway.url()}});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->servers.scores, PromptScores::vllm);
  EXPECT_FALSE(unknown->length);
}

TEST(ScoringServers, AreNotThoseThatTellNothingOfPromptsAndTheErrorSaysWhatToDo) {
  const std::map<std::string, std::map<std::string, std::string>> pages = {
      {"llama.cpp", {{"/v1/models", models("llamacpp", 512)}}},
      {"llama-cpp-python", {{"/v1/models", models("me", 512)}}},
      {"Ollama", {{"/v1/models", ok(R"({"data": []})")}, {"/api/version", ok(R"({"version": "0.9"})")}}},
      {"TGI", {{"/v1/models", ok(R"({"data": []})")}, {"/info", ok(R"({"max_total_tokens": 4096})")}}},
  };
  for (const auto& [software, answers] : pages) {
    StubServer server(honest(), 0, "", answers);
    const auto scoring = eval::scoring_servers({.urls = {server.url()}});
    ASSERT_FALSE(scoring) << software;
    EXPECT_EQ(scoring.error().code, ErrorCode::unsupported);
    EXPECT_EQ(scoring.error().message.find(software + " does not say"), 0U) << scoring.error().message;
    EXPECT_NE(scoring.error().message.find("vLLM and SGLang"), std::string::npos);
    EXPECT_NE(scoring.error().message.find("llama.cpp measures perplexity here"), std::string::npos);
  }
}

// ---- Texts ----------------------------------------------------------------------------------------------------------

// A tokenizer of bytes, with 256 before and 257 after every text if asked for what is special.
class Tokenizer {
 public:
  StubServer::Behaviour behaviour() {
    return [this](const StubServer::Caller& caller, const Question& question) {
      const nlohmann::json asked = nlohmann::json::parse(question.body);
      nlohmann::json tokens = nlohmann::json::array();
      if (asked.at("add_special_tokens")) tokens.push_back(256);
      for (const char c : asked.at("prompt").get<std::string>()) tokens.push_back(static_cast<unsigned char>(c));
      if (asked.at("add_special_tokens")) tokens.push_back(257);
      longest = std::max(longest, tokens.size());
      return caller.send(ok(nlohmann::json{{"tokens", tokens}, {"count", tokens.size()}}.dump()));
    };
  }
  std::size_t longest = 0;
};

TEST(TextsOnServers, BeginAsTheirTokenizerSaysAndEndWhereTheyAreCut) {
  const fs::path folder = fs::path(::testing::TempDir()) / "mrrope-served-texts";
  fs::create_directories(folder);
  std::ofstream(folder / "long.txt") << std::string(100'000, 'a');
  std::ofstream(folder / "short.txt") << "bc";
  std::ofstream(folder / "two.jsonl") << "{\"text\": \"de\"}\n{\"text\": \"" << std::string(3000, 'f') << "\"}\n";
  Tokenizer tokenizer;
  StubServer server(tokenizer.behaviour());
  const std::vector<std::string> patterns = {(folder / "*").string()};
  const auto texts = eval::texts_on_servers({.urls = {server.url()}, .model = "m"}, patterns, 1000);
  ASSERT_TRUE(texts) << to_string(texts.error());
  ASSERT_EQ(texts->size(), 4);
  EXPECT_EQ(texts->at(0).name, "long.txt");
  EXPECT_EQ(texts->at(0).hash, *eval::content_hash_of_file((folder / "long.txt").string()));
  EXPECT_EQ(texts->at(0).tokens.size(), 1000);
  EXPECT_EQ(texts->at(0).tokens.front(), 256);
  EXPECT_EQ(texts->at(0).tokens.back(), 'a');
  EXPECT_EQ(texts->at(1).tokens, (std::vector<std::int32_t>{256, 'b', 'c'}));
  EXPECT_EQ(texts->at(2).name, "two.jsonl, document 1");
  EXPECT_EQ(texts->at(2).tokens, (std::vector<std::int32_t>{256, 'd', 'e'}));
  EXPECT_EQ(texts->at(3).tokens.size(), 1000);
  EXPECT_LT(tokenizer.longest, 20'000);  // no more than is needed was sent
  fs::remove_all(folder);
}

// A file is cut by bytes, and JSON has none but whole characters.
TEST(TextsOnServers, AreNotCutThroughACharacter) {
  const fs::path folder = fs::path(::testing::TempDir()) / "mrrope-served-utf8";
  fs::create_directories(folder);
  Tokenizer tokenizer;
  StubServer server(tokenizer.behaviour());
  for (const std::string pad : {"", "a", "ab", "abc"}) {
    std::string text = pad;
    while (text.size() < 30'000) text += "\xF0\x9F\x8C\x8D";  // a globe, four bytes
    std::ofstream(folder / "globes.txt") << text;
    const std::vector<std::string> patterns = {(folder / "globes.txt").string()};
    const auto texts = eval::texts_on_servers({.urls = {server.url()}, .model = "m"}, patterns, 100);
    ASSERT_TRUE(texts) << to_string(texts.error());
    EXPECT_EQ(texts->at(0).tokens.size(), 100);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace mrrope::test

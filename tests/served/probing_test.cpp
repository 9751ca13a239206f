// SPDX-License-Identifier: MIT
//
// Servers whose length is known: honest ones, those that advertise too much, cut silently or lie about what they count.
#include "mrrope/probing.h"

#include <sstream>

#include "tests/servers/lies.h"
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

using probe::Cut;

// A word is a token. What it reads decides its log probabilities, as of a model that pays attention to everything.
struct Manner {
  std::int64_t advertised = 1024;
  std::int64_t limit = 1024;         // of a request; longer ones are refused …
  int status = 400;                  // … with this
  std::int64_t first = 0, last = 0;  // what is read of prompts that are longer than both; 0, 0: all
  bool usage = true;
  std::int64_t usage_is = 0;  // whatever was asked
  bool says_all = false;      // its usage is what was sent, not what is read
  bool logprobs = true;
  bool ids = true;
  bool as_in_a_chat = false;  // takes "logprobs": true alone, as mlx-lm 0.32.2
};

std::vector<std::string> words_of(const nlohmann::json& prompt) {
  std::vector<std::string> words;
  if (prompt.is_array()) {
    for (const auto& id : prompt) words.push_back(id.dump());
    return words;
  }
  std::istringstream text(prompt.get<std::string>());
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::string answer(const Manner& manner, const Question& question) {
  const nlohmann::json body = nlohmann::json::parse(question.body);
  if (question.path == "/tokenize") {
    if (!body.contains("content")) return http(404, "");
    return ok(nlohmann::json{{"tokens", std::vector<int>(words_of(body["content"]).size(), 1)}}.dump());
  }
  if (body["prompt"].is_array() && !manner.ids) return http(400, "prompt: expected a string");
  if (manner.as_in_a_chat && body.contains("logprobs") && !body["logprobs"].is_boolean()) {
    return http(400, R"({"error":"logprobs must be of type bool"})");
  }
  std::vector<std::string> words = words_of(body["prompt"]);
  const auto sent = static_cast<std::int64_t>(words.size());
  if (sent + body["max_tokens"].get<int>() > manner.limit) return http(manner.status, R"({"message":"too long"})");
  if (const std::int64_t read = manner.first + manner.last; read > 0 && sent > read) {
    words.erase(words.begin() + manner.first, words.end() - manner.last);
  }
  std::uint64_t hash = 14695981039346656037U;
  for (const std::string& word : words) {
    for (const char c : word + " ") hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  nlohmann::json choice = {{"text", " a" + std::to_string(hash % 7)}, {"finish_reason", "length"}};
  if (manner.logprobs && body.contains("logprobs")) {
    nlohmann::json top;
    for (int i = 0; i < 5; ++i)
      top[std::string(1, static_cast<char>('a' + i))] = -0.1 - double(hash >> (8 * i) & 255) / 32;
    choice["logprobs"] = {{"top_logprobs", nlohmann::json::array({top})}};
  }
  nlohmann::json reply;
  reply["choices"] = nlohmann::json::array({choice});
  const auto counted = static_cast<std::int64_t>(manner.says_all ? sent : std::int64_t(words.size()));
  if (manner.usage) {
    reply["usage"] = {{"prompt_tokens", manner.usage_is > 0 ? manner.usage_is : counted}, {"completion_tokens", 1}};
  }
  return ok(reply.dump());
}

Result<std::vector<std::int32_t>> ids_of(std::string_view text) {
  std::vector<std::int32_t> ids;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;)
    ids.push_back(static_cast<std::int32_t>(std::hash<std::string>()(word) % 30000));
  return ids;
}

struct Probed {
  Result<probe::Length> length = Error{};
  std::string codes;
  int posts = 0;
};

Probed probed(const Manner& manner, bool ids = true) {
  StubServer server([manner](const StubServer::Caller& caller, const Question& question) {
    return caller.send(answer(manner, question));
  });
  ServerInfo info{.software = "vLLM", .model = "m", .takes_token_ids = true};
  if (manner.advertised > 0) info.advertised = manner.advertised;
  Probed probed;
  probed.length = probe_length({.urls = {server.url()}, .deadline_s = 5}, info, {},
                               {.tokens = ids ? decltype(ProbePrompts::tokens)(ids_of) : nullptr});
  probed.posts = server.posts();
  if (!probed.length) {
    ADD_FAILURE() << to_string(probed.length.error());
    probed.length = probe::Length{};
  }
  EXPECT_LE(probed.length->prompt_tokens, plan_length(info, {}).prompt_tokens);
  EXPECT_LE(probed.length->requests, plan_length(info, {}).requests);
  for (const Finding& finding : length_findings(*probed.length)) probed.codes += finding.code + " ";
  return probed;
}

TEST(ProbeLength, OfAnHonestServerIsWhatItSays) {
  for (const bool ids : {true, false}) {
    const Probed found = probed({}, ids);
    EXPECT_EQ(length_line(*found.length), "advertised 1024, accepts 1024, reads all of it");
    EXPECT_EQ(found.codes, "");
  }
  EXPECT_EQ(probed({}).length->refused, 1025);
  EXPECT_LE(probed({}).posts, 8);
}

TEST(ProbeLength, OfOneThatAdvertisesTooMuchIsWhatItAccepts) {
  for (const int status : {400, 413, 422, 500}) {
    const Probed found = probed({.advertised = 4096, .limit = 1000, .status = status});
    EXPECT_LE(*found.length->accepted, 1000) << status;
    EXPECT_GE(*found.length->accepted, 980) << status;
    EXPECT_GT(*found.length->refused, 1000) << status;
    EXPECT_EQ(found.length->cut, Cut::none);
    EXPECT_EQ(found.codes, status == 500 ? "P100 P108 " : "P100 ");
  }
}

TEST(ProbeLength, SeesTheFrontCutByUsageExactly) {
  const Probed found = probed({.limit = 100000, .last = 300});
  EXPECT_EQ(length_line(*found.length), "advertised 1024, accepts 1152, reads the last 300");
  EXPECT_EQ(found.codes, "P101 ");
}

TEST(ProbeLength, SeesTheFrontCutWithoutUsageAndWithOneThatLies) {
  for (const Manner& manner :
       {Manner{.limit = 100000, .last = 300, .usage = false}, Manner{.limit = 100000, .last = 300, .says_all = true},
        Manner{.limit = 100000, .last = 300, .usage_is = 7}}) {
    const Probed found = probed(manner);
    EXPECT_EQ(found.length->cut, Cut::front);
    EXPECT_NEAR(static_cast<double>(found.length->read.value_or(0)), 300, 0.05 * 1152);
    EXPECT_EQ(found.codes, "P101 ");
  }
}

TEST(ProbeLength, SeesOllamasCut) {
  const Probed found = probed({.limit = 100000, .first = 4, .last = 508});
  EXPECT_EQ(found.length->cut, Cut::middle);
  EXPECT_EQ(found.length->read, 512);
  EXPECT_EQ(found.codes, "P101 ");
}

TEST(ProbeLength, SeesAMiddleAndABackCut) {
  const Probed middle = probed({.limit = 100000, .first = 300, .last = 300});
  EXPECT_EQ(middle.length->cut, Cut::middle);
  EXPECT_NEAR(static_cast<double>(*middle.length->first), 300, 0.03 * 1152);
  EXPECT_EQ(middle.length->read, 600);
  const Probed back = probed({.limit = 100000, .first = 512});
  EXPECT_EQ(length_line(*back.length), "advertised 1024, accepts 1152, reads the first 512");
}

TEST(ProbeLength, OfACutBeyondWhatIsAdvertisedIsAWarning) {
  EXPECT_EQ(probed({.limit = 100000, .last = 1024}).codes, "P105 ");
  EXPECT_EQ(probed({.limit = 100000}).codes, "P104 ");
}

TEST(ProbeLength, UsageThatIsWrongOnShortPromptsIsNotBelieved) {
  const Probed found = probed({.usage_is = 7});
  EXPECT_EQ(found.length->cut, Cut::none);
  EXPECT_FALSE(found.length->usage_believed);
  EXPECT_EQ(found.codes, "P103 ");
}

TEST(ProbeLength, WithoutLogProbabilitiesIsNeverACutThatWasNotSeen) {
  for (const Manner& manner : {Manner{.limit = 100000, .last = 300, .usage = false, .logprobs = false},
                               Manner{.limit = 100000, .last = 300, .says_all = true, .logprobs = false}}) {
    const Probed found = probed(manner);
    EXPECT_EQ(found.length->cut, Cut::unknown);
    EXPECT_FALSE(found.length->read);
    EXPECT_EQ(found.codes.substr(0, 5), "P106 ");
  }
}

TEST(ProbeLength, FallsBackToTextsWhereTokensAreRefused) { EXPECT_EQ(probed({.ids = false}).length->cut, Cut::none); }

TEST(ProbeLength, AsksForLogProbabilitiesAsAChatDoesWhereThatIsTheOnlyWay) {
  const Probed found = probed({.limit = 100000, .last = 300, .says_all = true, .ids = false, .as_in_a_chat = true});
  EXPECT_EQ(found.length->cut, Cut::front);
  EXPECT_EQ(found.codes, "P101 ");
}

TEST(ProbeLength, KeepsItsBudget) {
  StubServer server(
      [](const StubServer::Caller& caller, const Question& question) { return caller.send(answer({}, question)); });
  const ServerInfo info{.model = "m", .advertised = 1024, .takes_token_ids = true};
  const auto length =
      probe_length({.urls = {server.url()}}, info, {.total_tokens = 1500, .requests = 4}, {.tokens = ids_of});
  ASSERT_TRUE(length);
  EXPECT_LE(length->prompt_tokens, 1500);
  EXPECT_LE(server.posts(), 4);
  EXPECT_EQ(length->accepted, 1024);
  EXPECT_EQ(length->cut, Cut::unknown);
}

TEST(Probes, OfServersThatLieAreErrorsInTime) {
  for (const Lie& lie : lies()) {
    StubServer server(says(lie.bytes), 0, lie.bytes);
    const ServerOptions options{.urls = {server.url()}, .api_key = kKey, .deadline_s = 1};
    const ServerInfo info{.model = "m", .advertised = 1024, .takes_token_ids = true};
    const auto start = std::chrono::steady_clock::now();
    for (const bool ids : {true, false}) {
      const ProbePrompts prompts{.tokens = ids ? decltype(ProbePrompts::tokens)(ids_of) : nullptr};
      const auto length = probe_length(options, info, {}, prompts);
      ASSERT_FALSE(length) << lie.name;
      EXPECT_EQ(to_string(length.error()).find(kKey), std::string::npos) << lie.name;
      EXPECT_FALSE(probe_health(options, info, {.accepted = 1024}, prompts)) << lie.name;
    }
    EXPECT_LT(seconds_since(start), 10) << lie.name;
  }
}

TEST(Probes, OfAServerThatSaysTheSameToEverythingKnowNothing) {
  StubServer server([](const StubServer::Caller& caller, const Question&) { return caller.send(completion("yes")); });
  const ServerInfo info{.model = "m", .advertised = 1024, .takes_token_ids = true};
  const auto length = probe_length({.urls = {server.url()}}, info, {}, {.tokens = ids_of});
  ASSERT_TRUE(length);
  EXPECT_EQ(length->cut, Cut::unknown);
  EXPECT_FALSE(length->read);
}

TEST(ProbeHealth, TellsAServerThatRepeatsItselfFromOneThatDoesNot) {
  std::atomic<int> n = 0;
  StubServer honest_one(
      [](const StubServer::Caller& caller, const Question& question) { return caller.send(answer({}, question)); });
  StubServer moody([&](const StubServer::Caller& caller, const Question&) {
    return caller.send(completion("answer " + std::to_string(++n)));
  });
  const ServerInfo info{.software = "vLLM", .model = "m", .advertised = 1024, .takes_token_ids = true};
  const probe::Length length{.accepted = 1024, .refused = 1025};
  const auto good = probe_health({.urls = {honest_one.url()}}, info, length, {.tokens = ids_of});
  ASSERT_TRUE(good);
  EXPECT_EQ(good->same_twice, true);
  EXPECT_EQ(good->same_cached, true);
  EXPECT_EQ(good->context_shift, false);
  EXPECT_LE(good->prompt_tokens, plan_health(length).prompt_tokens);
  const auto bad = probe_health({.urls = {moody.url()}}, info, length, {.tokens = ids_of});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->same_twice, false);
  EXPECT_FALSE(bad->same_cached);
}

}  // namespace
}  // namespace mrrope::test

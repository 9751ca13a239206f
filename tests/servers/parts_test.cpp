// SPDX-License-Identifier: MIT
//
// The parts that decide, without a network: URLs, bodies, excerpts, health.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "servers/api.h"
#include "servers/check.h"
#include "servers/health.h"
#include "servers/key.h"

namespace mrrope::servers {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kKey = "sk-0123456789abcdefghij";

// ---- URLs -----------------------------------------------------------------------------------------------------------

TEST(ServerUrls, MayEndInV1AndSlashes) {
  for (const char* text : {"http://host:8000", "http://host:8000/", "http://host:8000/v1", "http://host:8000/v1/"}) {
    EXPECT_EQ(parse_server_url(text)->at("/v1/completions"), "http://host:8000/v1/completions") << text;
  }
  EXPECT_EQ(parse_server_url("https://[::1]:1/a/b/v1")->at("/tokenize"), "https://[::1]:1/a/b/tokenize");
}

TEST(ServerUrls, AreRefusedIfNoServerCanBeMeant) {
  for (const char* text : {"", "host:8000", "ftp://host", "http://", "http:///v1", "http://host:port", "http://host:0",
                           "http://host:65536", "http://[::1", "http://[evil]/", "http://host?key=1", "http://host#x",
                           "http://ho st", "http://host\r\nX: y", "http://host/{a,b}"}) {
    EXPECT_FALSE(parse_server_url(text)) << text;
  }
}

TEST(ServerUrls, WithAPasswordAreRefusedWithoutRepeatingIt) {
  for (const char* text : {"http://me:hunter2@host", "me:hunter2@host", "ftp://me:hunter2@host/",
                           "http://host/v1?api_key=hunter2", "host?api_key=hunter2"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(to_string(url.error()).find("hunter2"), std::string::npos) << text;
  }
}

TEST(ServerUrls, OfAnotherMachineWithoutEncryptionAreKnown) {
  const auto open = [](const char* url) { return servers_without_encryption({.urls = {url}}).size() == 1; };
  for (const char* url : {"http://node1:8000", "http://10.0.0.1/v1", "http://127.0.0.1.evil.example", "http://[::2]:1",
                          "http://0.0.0.0", "http://localhost.example", "http://1270.0.0.1", "http://notlocalhost"}) {
    EXPECT_TRUE(open(url)) << url;
  }
  for (const char* url : {"http://localhost:8000", "http://LocalHost", "http://a.localhost/v1", "http://127.0.0.1:1",
                          "http://127.8.9.1", "http://[::1]:8000/v1", "https://node1", "https://10.0.0.1:8000/v1"}) {
    EXPECT_FALSE(open(url)) << url;
  }
}

TEST(ServerOptions, OutOfRangeAreNamedAndTheKeyIsNotRepeated) {
  const ServerOptions good{.urls = {"http://host"}};
  const auto where = [](const ServerOptions& options) {
    const auto checked = check_options(options);
    return checked ? std::string("fine") : checked.error().where;
  };
  EXPECT_EQ(where(good), "fine");
  const auto with = [&](auto change) {
    ServerOptions options = good;
    change(options);
    return where(options);
  };
  EXPECT_EQ(with([](auto& o) { o.urls.clear(); }), "urls");
  EXPECT_EQ(with([](auto& o) { o.urls = {"nonsense"}; }), "url");
  EXPECT_EQ(with([](auto& o) { o.concurrency = 0; }), "concurrency");
  EXPECT_EQ(with([](auto& o) { o.attempts = 0; }), "attempts");
  EXPECT_EQ(with([](auto& o) { o.deadline_s = 0; }), "deadline_s");
  EXPECT_EQ(with([](auto& o) { o.deadline_s = std::nan(""); }), "deadline_s");
  EXPECT_EQ(with([](auto& o) { o.patience_s = -1; }), "patience_s");
  const ServerOptions injected{.urls = {"http://host"}, .api_key = "secret\r\nX-Evil: 1"};
  EXPECT_EQ(where(injected), "api_key");
  EXPECT_EQ(to_string(check_options(injected).error()).find("secret"), std::string::npos);
}

// ---- Bodies ---------------------------------------------------------------------------------------------------------

TEST(RequestBody, OfCompletionsEndsThePromptWithTheAnswerPrefix) {
  const auto body =
      request_body({.model = "m"}, {.prompt = "Where?", .answer_prefix = " In", .max_tokens = 9, .stop = {"\n"}});
  EXPECT_EQ(json::parse(*body), json::parse(R"({"model": "m", "prompt": "Where? In", "max_tokens": 9, "temperature": 0,
                                               "stream": false, "stop": ["\n"]})"));
}

TEST(RequestBody, OfChatContinuesTheAssistantsMessage) {
  const auto body = request_body({.model = "m", .chat = true}, {.prompt = "Where?", .answer_prefix = "In"});
  EXPECT_EQ(json::parse(*body), json::parse(R"({"model": "m", "max_tokens": 128, "temperature": 0, "stream": false,
    "messages": [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "In"}],
    "continue_final_message": true, "add_generation_prompt": false})"));
}

TEST(RequestBody, OfPlainChatHasNothingThatOnlySomeServersKnow) {
  const auto body = request_body({.chat = true}, {.prompt = "Where?", .max_tokens = 1});
  EXPECT_EQ(json::parse(*body), json::parse(R"({"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 1,
                                               "temperature": 0, "stream": false})"));
}

TEST(RequestBody, RefusesTextThatIsNotUtf8) {
  EXPECT_EQ(request_body({}, {.prompt = "\xff"}).error().where, "prompt");
  EXPECT_EQ(request_body({}, {.prompt = "x", .max_tokens = 0}).error().where, "max_tokens");
}

// ---- Keys
// ------------------------------------------------------------------------------------------------------------

TEST(Key, IsHiddenInAnyCaseWholeOrInParts) {
  const std::string lower = "sk-0123456789abcdefghij", upper = "SK-0123456789ABCDEFGHIJ";
  for (const std::string& text :
       {lower, upper, lower.substr(0, 22), upper.substr(1), lower.substr(5, 8), lower + upper}) {
    EXPECT_EQ(without_key("a " + text + " b", kKey), "a [key] b") << text;
    EXPECT_EQ(without_key(text, kKey), "[key]") << text;
  }
  EXPECT_EQ(without_key(lower.substr(0, 9) + "-" + lower.substr(10), kKey), "[key]-[key]");
  EXPECT_EQ(without_key(kKey + " " + kKey, kKey), "[key] [key]");
  EXPECT_EQ(without_key("EMPTY or empty or empt", "EMPTY"), "[key] or empty or empt");
}

TEST(Key, LeavesWhatTellsNothingOfIt) {
  for (const char* text : {"", "x", "sk-0123", "abcdefg 0123456", "caf\xc3\xa9 \xff"}) {
    EXPECT_EQ(without_key(text, kKey), text);
    EXPECT_EQ(without_key(text, ""), text);
  }
}

// Every start of the key was tried at every place: with a long key and a long answer, minutes.
TEST(Key, IsSoughtInTimeThatDoesNotGrowWithItsLength) {
  const std::string key(4096, 'a');
  EXPECT_EQ(without_key(std::string(std::size_t{4} << 20, 'a'), key), "[key]");
  const std::string near = std::string(7, 'a') + "b";
  std::string text;
  while (text.size() < std::size_t{4} << 20) text += near;
  EXPECT_EQ(without_key(text, key), text);
}

// ---- Excerpts -------------------------------------------------------------------------------------------------------

TEST(Excerpt, IsOneLineWithoutControlCharacters) {
  EXPECT_EQ(excerpt("a\r\n\tb\x1b[31mc\x7f", ""), "a b [31mc");
  EXPECT_EQ(excerpt("caf\xc3\xa9 \xff\xfe \xc2\x85 \xe2\x80\xae!", ""), "caf\xc3\xa9 !");
  EXPECT_EQ(excerpt(std::string_view("\0\0", 2), ""), "");
}

TEST(Excerpt, IsShort) {
  EXPECT_LT(excerpt(std::string(10'000'000, 'x'), kKey).size(), 320U);
  EXPECT_LT(excerpt(std::string(10'000'000, '\0') + "x", kKey).size(), 320U);
}

TEST(Excerpt, NeverShowsTheKeyWhereverItStands) {
  for (std::size_t before = 0; before < 3000; before += 7) {
    for (const std::string& filler : {std::string(before, 'x'), std::string(before, '\n')}) {
      const std::string said = excerpt(filler + kKey + kKey + "!", kKey);
      EXPECT_EQ(said.find(kKey.substr(0, 8)), std::string::npos) << before;
    }
  }
  EXPECT_EQ(excerpt("your key " + kKey + " is wrong", kKey), "your key [key] is wrong");
  EXPECT_EQ(excerpt("your key " + kKey.substr(2, 15) + "… is wrong", kKey), "your key [key]… is wrong");
  EXPECT_EQ(excerpt("short abc keys", "abc"), "short [key] keys");
}

// ---- Health ---------------------------------------------------------------------------------------------------------

class Health : public testing::Test {
 protected:
  std::minstd_rand random{1};
  Clock::time_point now = Clock::time_point{} + seconds(1000);
  ServerHealth health{8};
};

TEST_F(Health, BeginsWithAProbeAndThenTakesAll) {
  EXPECT_TRUE(health.probe_due(now));
  EXPECT_EQ(health.window(now), 0);
  health.back();
  EXPECT_EQ(health.window(now), 8);
}

TEST_F(Health, IsLostAfterThreeFailuresInARowAndRegainedStepByStep) {
  health.back();
  for (int i = 0; i < 2; ++i) health.failed(now, random);
  health.answered();
  for (int i = 0; i < 2; ++i) health.failed(now, random);
  EXPECT_EQ(health.window(now), 8);
  health.failed(now, random);
  EXPECT_EQ(health.window(now + seconds(100)), 0);
  EXPECT_FALSE(health.probe_due(now));
  EXPECT_TRUE(health.probe_due(now + seconds(1)));
  health.back();
  EXPECT_EQ(health.window(now + seconds(1)), 1);
  for (int i = 0; i < 20; ++i) health.answered();
  EXPECT_EQ(health.window(now + seconds(1)), 8);
}

TEST_F(Health, RestsLongerEachTimeUpToAMinute) {
  Clock::duration last{};
  for (int i = 0; i < 20; ++i) {
    health.failed(now, random);
    Clock::duration rest{};
    while (!health.probe_due(now + rest)) rest += milliseconds(10);
    EXPECT_LE(rest, seconds(61));
    EXPECT_TRUE(rest > last || i > 6) << i;
    last = rest;
    now += rest;
  }
  EXPECT_GE(last, seconds(29));
}

TEST_F(Health, OfAServerThatNeverAnsweredIsHopelessUnlessItSaidNotNow) {
  for (int i = 0; i < 3; ++i) health.failed(now += seconds(100), random);
  EXPECT_TRUE(health.hopeless());
  health.seen();
  EXPECT_FALSE(health.hopeless());
}

TEST_F(Health, HonoursRetryAfterUpToAMinute) {
  health.back();
  health.busy(now, 7, random);
  health.busy(now, 7, random);  // said by another request at the same time
  EXPECT_EQ(health.window(now + milliseconds(6900)), 0);
  EXPECT_EQ(health.window(now + seconds(7)), 4);
  health.busy(now + seconds(7), 1e300, random);
  EXPECT_EQ(health.window(now + seconds(66)), 0);
  EXPECT_EQ(health.window(now + seconds(67)), 2);
}

}  // namespace
}  // namespace mrrope::servers

// SPDX-License-Identifier: MIT
//
// Many requests over servers that work, stop, freeze and come back: each is answered once.
#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

TEST(Servers, AnswerEveryRequestOnceWithUsageAndOrigin) {
  Meeting meeting(16);
  StubServer a(meeting.behaviour()), b(meeting.behaviour());
  const ServerOptions options{
      .urls = {a.url(), b.url() + "/v1/"}, .model = "m", .api_key = "sk-test-key-12345", .concurrency = 8};
  const Outcome outcome = ask(options, 96);
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  EXPECT_TRUE(outcome.each_answered_once());
  const ServerAnswer& answer = *outcome.answers.at(0);
  EXPECT_EQ(answer.finish, "stop");
  EXPECT_EQ(answer.prompt_tokens, 7);
  EXPECT_EQ(answer.new_tokens, 3);
  EXPECT_EQ(answer.attempts, 1);
  EXPECT_GT(answer.seconds, 0);
  EXPECT_EQ(outcome.by_server().at(options.urls[0]), 48);
  EXPECT_EQ(outcome.by_server().at(options.urls[1]), 48);
}

TEST(Servers, GetTheKeyInOneHeaderAndNothingWithoutOne) {
  std::mutex mutex;
  std::vector<Question> questions;
  StubServer server([&](const StubServer::Caller& caller, const Question& question) {
    const std::lock_guard lock(mutex);
    questions.push_back(question);
    return caller.send(completion(""));
  });
  for (const char* key : {"sk-test-key-12345", ""}) {
    ASSERT_TRUE(ask({.urls = {server.url()}, .model = "m", .api_key = key}, 1).run);
  }
  EXPECT_NE(questions.at(0).head.find("\r\nAuthorization: Bearer sk-test-key-12345\r\n"), std::string::npos);
  EXPECT_EQ(questions.at(0).body.find("sk-test"), std::string::npos);
  EXPECT_EQ(questions.at(1).head.find("Authorization"), std::string::npos);
  EXPECT_EQ(questions.at(0).path, "/v1/completions");
}

TEST(Servers, FourDoTheWorkOfFour) {
  Meeting meeting(16);  // four servers, four requests in flight on each; with one less anywhere, nobody is answered
  std::list<StubServer> servers;
  ServerOptions options{.concurrency = 4, .deadline_s = 60, .attempts = 1};
  for (int i = 0; i < 4; ++i) options.urls.push_back(servers.emplace_back(meeting.behaviour()).url());
  const Outcome outcome = ask(options, 160);
  EXPECT_TRUE(outcome.each_answered_once());
  for (const std::string& url : options.urls) EXPECT_EQ(outcome.by_server()[url], 40) << url;
}

TEST(Servers, MayBeKilledAndFrozenWithoutLosingOrDoublingARequest) {
  Meeting meeting(12, 1);  // so that each has its share from the first
  StubServer steady(meeting.behaviour()), killed(meeting.behaviour()), frozen(meeting.behaviour());
  std::vector<std::string> trouble;
  const ServerOptions options{.urls = {steady.url(), killed.url(), frozen.url()},
                              .concurrency = 4,
                              .deadline_s = 3,
                              .on_health = [&](const std::string& url, const std::string&) { trouble.push_back(url); }};
  const Outcome outcome = ask(options, 300, [&](const Outcome& so_far) {
    if (so_far.by_server().count(killed.url()) > 0) killed.kill();
    if (so_far.by_server().count(frozen.url()) > 0) frozen.freeze();
  });
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  EXPECT_TRUE(outcome.each_answered_once());
  EXPECT_GE(outcome.by_server().at(killed.url()), 1);
  EXPECT_GE(outcome.by_server().at(frozen.url()), 1);
  EXPECT_NE(std::find(trouble.begin(), trouble.end(), killed.url()), trouble.end());
}

TEST(Servers, ThatComeBackAreUsedAgain) {
  auto server = std::make_unique<StubServer>(honest());
  const int port = server->port();
  std::vector<std::string> news;
  const ServerOptions options{.urls = {server->url()},
                              .concurrency = 4,
                              .attempts = 20,
                              .on_health = [&](const std::string&, const std::string& what) { news.push_back(what); }};
  std::thread restart;
  const Outcome outcome = ask(options, 200, [&](const Outcome& so_far) {
    if (so_far.answers.size() != 50) return;
    server->kill();
    restart = std::thread([&] {
      std::this_thread::sleep_for(milliseconds(800));
      server = std::make_unique<StubServer>(honest(), port);
    });
  });
  restart.join();
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  EXPECT_TRUE(outcome.each_answered_once());
  ASSERT_EQ(news.size(), 2U);
  EXPECT_NE(news[0], "");
  EXPECT_EQ(news[1], "");
}

TEST(Servers, ThatAllStopEndTheRunWhenPatienceEnds) {
  StubServer server(honest());
  const ServerOptions options{.urls = {server.url()}, .concurrency = 2, .attempts = 100, .patience_s = 0.5};
  const Outcome outcome = ask(options, 100, [&](const Outcome& so_far) {
    if (so_far.answers.size() == 10) server.kill();
  });
  ASSERT_FALSE(outcome.run);
  EXPECT_EQ(outcome.run.error().code, ErrorCode::io);
  EXPECT_NE(outcome.run.error().message.find("no server has answered for 0.5 s; " + server.url()), std::string::npos);
}

TEST(Servers, ThatCannotBeReachedEndTheRunSoonAndAreNamed) {
  const std::string url = "http://127.0.0.1:" + std::to_string(closed_port());
  const Outcome outcome = ask({.urls = {url}}, 3);
  ASSERT_FALSE(outcome.run);
  EXPECT_EQ(outcome.run.error().code, ErrorCode::io);
  EXPECT_NE(outcome.run.error().message.find("no server can be reached; " + url), std::string::npos);
  EXPECT_TRUE(outcome.answers.empty());
}

TEST(Servers, ThatCannotBeReachedAreMadeUpForByOthers) {
  StubServer server(honest());
  const Outcome outcome = ask({.urls = {"http://127.0.0.1:" + std::to_string(closed_port()), server.url()}}, 50);
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  EXPECT_TRUE(outcome.each_answered_once());
  EXPECT_EQ(outcome.by_server().at(server.url()), 50);
}

// As of transformers serve without a cache of models.
TEST(Servers, ThatCannotListTheirModelsAreUsed) {
  for (const int status : {401, 404, 500}) {
    StubServer server(honest(), 0, http(status, ""));
    EXPECT_TRUE(ask({.urls = {server.url()}}, 20).each_answered_once()) << status;
  }
}

// llama-server answers 503 while it loads its model.
TEST(Servers, ThatAreStillLoadingAreWaitedFor) {
  auto server = std::make_unique<StubServer>(honest(), 0, http(503, R"({"error": {"message": "Loading model"}})"));
  const int port = server->port();
  const std::string url = server->url();
  std::thread loaded([&] {
    std::this_thread::sleep_for(milliseconds(2500));
    server = nullptr;
    server = std::make_unique<StubServer>(honest(), port);
  });
  const Outcome outcome = ask({.urls = {url}, .attempts = 20}, 20);
  loaded.join();
  ASSERT_TRUE(outcome.run) << to_string(outcome.run.error());
  EXPECT_TRUE(outcome.each_answered_once());
}

// ---- Memory, errors, cancel -----------------------------------------------------------------------------------------

TEST(Requests, AreMadeOnlyWhenThereIsAPlaceForThem) {
  StubServer a(honest(milliseconds(2))), b(honest(milliseconds(2)));
  std::size_t made = 0, answered = 0, most = 0;
  const auto done = run_requests(
      {.urls = {a.url(), b.url()}, .concurrency = 3}, 200,
      [&](std::size_t i) -> Result<ServerRequest> {
        EXPECT_EQ(i, made);
        most = std::max(most, ++made - answered);
        return ServerRequest{.prompt = "x"};
      },
      [&](std::size_t, const Result<ServerAnswer>&) -> Result<void> {
        ++answered;
        return {};
      });
  EXPECT_TRUE(done);
  EXPECT_EQ(answered, 200U);
  EXPECT_LE(most, 6U);
}

TEST(Requests, ThatCannotBeMadeAreAnsweredWithTheReason) {
  StubServer server(honest());
  std::map<std::size_t, std::string> problems;
  const auto done = run_requests(
      {.urls = {server.url()}}, 3,
      [&](std::size_t i) -> Result<ServerRequest> {
        if (i == 1) return Error{ErrorCode::unsupported, "no such sample", "samples"};
        return ServerRequest{.prompt = i == 2 ? "\xff" : "fine"};
      },
      [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
        problems[i] = answer ? "" : to_string(answer.error());
        return {};
      });
  EXPECT_TRUE(done);
  const std::map<std::size_t, std::string> expected = {
      {0, ""}, {1, "samples: no such sample"}, {2, "prompt: the text of the request is not UTF-8"}};
  EXPECT_EQ(problems, expected);
}

// Who counts the tokens of a prompt may be a server that still loads.
TEST(Requests, ThatCannotBeMadeYetAreMadeLater) {
  StubServer server(honest());
  int calls = 0;
  std::vector<std::size_t> answered;
  const auto done = run_requests(
      {.urls = {server.url()}, .concurrency = 2}, 5,
      [&](std::size_t i) -> Result<ServerRequest> {
        if (++calls == 3 || calls == 4) return Error{ErrorCode::io, "HTTP 503: loading", "http://counter"};
        return ServerRequest{.prompt = "sample " + std::to_string(i)};
      },
      [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
        if (answer) answered.push_back(i);
        return {};
      });
  EXPECT_TRUE(done);
  std::sort(answered.begin(), answered.end());
  EXPECT_EQ(answered, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Requests, ThatCannotBeMadeForTooLongEndTheRun) {
  StubServer server(honest());
  const auto done = run_requests(
      {.urls = {server.url()}, .patience_s = 0.5}, 5,
      [](std::size_t) -> Result<ServerRequest> {
        return Error{ErrorCode::io, "HTTP 503: loading", "http://counter"};
      },
      [](std::size_t, const Result<ServerAnswer>&) -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_EQ(to_string(done.error()), "http://counter: HTTP 503: loading");
}

TEST(Requests, ThatAreCancelledWhileTheyAreMadeEndTheRun) {
  StubServer server(honest());
  const auto done = run_requests(
      {.urls = {server.url()}}, 5,
      [](std::size_t) -> Result<ServerRequest> {
        return Error{ErrorCode::cancelled, "cancelled", ""};
      },
      [](std::size_t, const Result<ServerAnswer>&) -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
}

TEST(Requests, EndWhenTheirOwnerSaysSo) {
  StubServer server(honest());
  int calls = 0;
  const auto done = run_requests(
      {.urls = {server.url()}}, 100, [](std::size_t) -> Result<ServerRequest> { return ServerRequest{.prompt = "x"}; },
      [&](std::size_t, const Result<ServerAnswer>&) -> Result<void> {
        if (++calls < 5) return {};
        return Error{ErrorCode::io, "disk full", ""};
      });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "disk full");
  EXPECT_EQ(calls, 5);
}

TEST(Requests, NoneNeedsNoServer) { EXPECT_TRUE(ask({.urls = {"http://127.0.0.1:1"}}, 0).run); }

TEST(Requests, InFlightEndSoonAfterCancelAndHangUp) {
  std::atomic<int> asked = 0, hung_up = 0;
  StubServer server([&](const StubServer::Caller& caller, const Question&) {
    ++asked;
    if (caller.wait_for_hangup()) ++hung_up;
    return false;
  });
  std::atomic<bool> cancel = false;
  std::chrono::steady_clock::time_point pressed;
  std::thread impatient([&] {
    while (asked < 4) std::this_thread::sleep_for(milliseconds(5));
    pressed = std::chrono::steady_clock::now();
    cancel = true;
  });
  const Outcome outcome = ask({.urls = {server.url()}, .concurrency = 4}, 100, nullptr, &cancel);
  impatient.join();
  EXPECT_LT(seconds_since(pressed), 5);  // 0.1 on a machine with nothing else to do
  ASSERT_FALSE(outcome.run);
  EXPECT_EQ(outcome.run.error().code, ErrorCode::cancelled);
  for (int i = 0; i < 400 && hung_up < 4; ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(hung_up, 4);
}

}  // namespace
}  // namespace mrrope::test

// SPDX-License-Identifier: MIT
//
// Two real llama-servers on the loopback, one of them killed half-way.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>

#include "tests/servers/stub_server.h"

namespace mrrope::test {
namespace {

const std::string kModel = MRROPE_TESTS "/models/tiny-512.gguf";

class LlamaServer {
 public:
  LlamaServer() : port_(closed_port()) {
    const std::string port = std::to_string(port_);
    child_ = ::fork();
    if (child_ != 0) return;
    const int null = ::open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) ::dup2(null, fd);
    // One slot and no cache: what an answer is computed with does not depend on what else was asked.
    ::execl(MRROPE_LLAMA_SERVER, MRROPE_LLAMA_SERVER, "-m", kModel.c_str(), "--host", "127.0.0.1", "--port",
            port.c_str(), "-c", "512", "-np", "1", "-t", "1", "--offline", "--no-warmup", "--no-cache-prompt", nullptr);
    ::_exit(127);
  }
  ~LlamaServer() { kill(); }
  LlamaServer(const LlamaServer&) = delete;
  LlamaServer& operator=(const LlamaServer&) = delete;

  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int port_;
  pid_t child_ = 0;
};

std::vector<std::string> texts(const ServerOptions& options, const std::vector<ServerRequest>& requests,
                               const std::function<void(std::size_t)>& after = nullptr) {
  std::vector<std::string> answers(requests.size());
  std::size_t answered = 0;
  const auto done = run_requests(
      options, requests.size(), [&](std::size_t i) -> Result<ServerRequest> { return requests[i]; },
      [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
        if (!answer) return answer.error();
        EXPECT_EQ(answers[i], "");
        EXPECT_GT(answer->new_tokens, 0);
        EXPECT_GT(answer->prompt_tokens, 0);
        answers[i] = answer->finish + "|" + answer->text;
        if (after) after(++answered);
        return {};
      });
  EXPECT_TRUE(done) << to_string(done.error());
  return answers;
}

class LlamaServers : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(MRROPE_LLAMA_SERVER)) GTEST_SKIP() << "no llama-server; tools/llama_cpp builds it";
    if (!std::filesystem::exists(kModel)) GTEST_SKIP() << "no " << kModel;
  }

  // While a server starts nobody listens: it is not "hopeless", it is early.
  static void wait_for(const std::string& url) {
    for (int i = 0; i < 600; ++i) {
      if (server_token_count({.urls = {url}}, "x")) return;
      std::this_thread::sleep_for(milliseconds(100));
    }
    FAIL() << "llama-server does not start";
  }

  static std::vector<ServerRequest> twenty() {
    std::vector<ServerRequest> requests;
    for (int i = 0; i < 20; ++i) {
      requests.push_back(
          {.prompt = std::to_string(i) + " whales were seen by the captain, who said", .max_tokens = 12});
    }
    return requests;
  }
};

TEST_F(LlamaServers, AnswerAlikeAndOneMayBeKilled) {
  LlamaServer a, b;
  wait_for(a.url());
  wait_for(b.url());
  for (const bool chat : {false, true}) {
    const std::vector<ServerRequest> requests = twenty();
    const std::vector<std::string> alone = texts({.urls = {b.url()}, .chat = chat, .concurrency = 1}, requests);
    const bool kill = chat;
    const std::vector<std::string> together =
        texts({.urls = {a.url(), b.url()}, .chat = chat, .concurrency = 2}, requests, [&](std::size_t answered) {
          if (kill && answered == 5) a.kill();
        });
    EXPECT_EQ(alone, together);
  }
}

// The template is the default of llama-server for a model without one, so we know what the prompt has to be.
TEST_F(LlamaServers, ContinueTheAnswerPrefixInBothKindsOfRequest) {
  LlamaServer server;
  wait_for(server.url());
  const std::string prefix = "The captain of the ship";
  const std::string by_hand = "<|im_start|>user\nWho was it?<|im_end|>\n<|im_start|>assistant\n";
  const auto chat = texts({.urls = {server.url()}, .chat = true},
                          {{.prompt = "Who was it?", .answer_prefix = prefix, .max_tokens = 16}});
  const auto plain = texts({.urls = {server.url()}}, {{.prompt = by_hand, .answer_prefix = prefix, .max_tokens = 16}});
  EXPECT_EQ(chat, plain);
  EXPECT_EQ(chat[0].find(prefix), std::string::npos);
}

TEST_F(LlamaServers, RefuseWhatDoesNotFitWithTheirOwnWords) {
  LlamaServer server;
  wait_for(server.url());
  std::string prompt;
  for (int i = 0; i < 2000; ++i) prompt += "whale ";
  EXPECT_GT(*server_token_count({.urls = {server.url()}}, prompt), 2000);
  Outcome outcome;
  const auto done = run_requests(
      {.urls = {server.url()}}, 1,
      [&](std::size_t) -> Result<ServerRequest> { return ServerRequest{.prompt = prompt}; },
      [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
        outcome.answers.insert_or_assign(i, answer);
        return {};
      });
  ASSERT_TRUE(done);
  EXPECT_EQ(outcome.answers.at(0).error().code, ErrorCode::invalid_argument);
  EXPECT_NE(outcome.answers.at(0).error().message.find("context"), std::string::npos)
      << outcome.answers.at(0).error().message;
}

}  // namespace
}  // namespace mrrope::test

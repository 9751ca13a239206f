// SPDX-License-Identifier: MIT
//
// A model whose layers are on two RPC servers computes what it computes here: plans and positions reach the devices.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/llama/support.h"

// For LeakSanitizer: ggml keeps servers, their buffer types and events until the process ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libggml-rpc\n"; }

namespace mrrope::test {
namespace {

int listen_on_free_port(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(fd, 1);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

// -1: nobody listens.
int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

bool answers(int port) {
  const int fd = connect_to(port);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

class RpcServer {
 public:
  RpcServer() {
    ::close(listen_on_free_port(port_));
    const std::string port = std::to_string(port_);
    child_ = ::fork();
    if (child_ == 0) {
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::execl(MRROPE_RPC_SERVER, MRROPE_RPC_SERVER, "-H", "127.0.0.1", "-p", port.c_str(), "-t", "1", nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 300 && !answers(port_); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ~RpcServer() {
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  pid_t child_ = -1;
};

#define MRROPE_NEED_RPC_SERVER() \
  if (!mrrope::test::fs::exists(MRROPE_RPC_SERVER)) GTEST_SKIP() << "llama.cpp was installed without ggml-rpc-server"

TEST(Rpc, TwoServersComputeWhatThisMachineComputes) {
  MRROPE_NEED_TINY_MODELS();
  MRROPE_NEED_RPC_SERVER();
  const RpcServer first, second;
  const LlamaModelOptions remote{.rpc = {first.endpoint(), second.endpoint()}, .tensor_split = {1, 1}};
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma3", "qwen2vl"}) {
    SCOPED_TRACE(name);
    const std::string path = tiny(name);
    const Plan plan = plan_for(path);
    const LlamaModel here_model = load(path), there_model = load(path, remote);
    ASSERT_EQ(there_model.devices().size(), 2U);
    LlamaContext here = context_of(here_model), there = context_of(there_model);
    const std::vector<Token> tokens = random_tokens(here_model, 48);
    const std::vector<std::int32_t> far = positions(48, 37);

    EXPECT_EQ(logits(there, tokens), logits(here, tokens));
    use(here, plan);
    use(there, plan);
    const std::vector<float> with = logits(here, tokens, far);
    EXPECT_EQ(logits(there, tokens, far), with);
    EXPECT_EQ(there.rotation(), here.rotation()) << "as read back from the servers";
    there.clear();
    here.clear();
    EXPECT_EQ(logits(there, tokens), logits(here, tokens));
    there.use_file();
    EXPECT_GT(distance(logits(there, tokens, far), with), 1e-3) << "the plan must show";
  }
}

// Keys are turned where they lie.
TEST(Rpc, ATextClimbsOnTwoServersAsItDoesHere) {
  MRROPE_NEED_TINY_MODELS();
  MRROPE_NEED_RPC_SERVER();
  const RpcServer first, second;
  const LlamaModelOptions remote{.rpc = {first.endpoint(), second.endpoint()}, .tensor_split = {1, 1}};
  for (const char* name : {"llama", "gemma3", "deepseek2", "smollm3"}) {
    SCOPED_TRACE(name);
    const std::string path = tiny(name);
    Ladder ladder = *climbing_ladder(*rope_spec(file_of(path)), 4 * 4096);
    ladder.reserve = 0;
    for (std::size_t r = 0; r < ladder.rungs.size(); ++r)
      ladder.rungs[r].length = 20 * static_cast<std::int64_t>(r + 1);
    const LlamaModel here_model = load(path), there_model = load(path, remote);
    LlamaContext here = context_of(here_model), there = context_of(there_model);
    const auto done = here.use(ladder);
    ASSERT_TRUE(done) << to_string(done.error());
    ASSERT_TRUE(there.use(ladder));
    const std::vector<Token> tokens = random_tokens(here_model, 60);
    EXPECT_EQ(logits(there, tokens), logits(here, tokens));
    EXPECT_EQ(there.rotation(), here.rotation());
  }
}

TEST(Rpc, ExtendedFilesComputeWhatPlansCompute) {
  MRROPE_NEED_TINY_MODELS();
  MRROPE_NEED_RPC_SERVER();
  const RpcServer first, second;
  const LlamaModelOptions remote{.rpc = {first.endpoint(), second.endpoint()}, .tensor_split = {1, 1}};
  for (const char* name : {"llama", "qwen2"}) {
    const std::string path = tiny(name);
    const Plan plan = plan_for(path);
    const EditedCopy baked(path, edits_for(path, plan, std::string(name) == "qwen2"));
    const LlamaModel plain_model = load(path, remote), baked_model = load(baked.path(), remote);
    LlamaContext injected = context_of(plain_model), written = context_of(baked_model);
    const std::vector<Token> tokens = random_tokens(plain_model, 48);
    use(injected, plan);
    EXPECT_EQ(logits(injected, tokens), logits(written, tokens)) << name;
  }
}

// One ubatch on two servers: the second does not get its share.
TEST(Rpc, CancelInTheMiddleOfAGraphLeavesTheContextUsable) {
  MRROPE_NEED_TINY_MODELS();
  MRROPE_NEED_RPC_SERVER();
  const RpcServer first, second;
  const LlamaModel model = load(tiny("llama"), {.rpc = {first.endpoint(), second.endpoint()}, .tensor_split = {1, 1}});
  ContextOptions options = one_thread(4096);
  options.ubatch_size = 4096;
  LlamaContext context = context_of(model, options);
  const std::vector<Token> head = random_tokens(model, 10, 1), tail = random_tokens(model, 20, 2);
  const std::vector<Token> tokens = random_tokens(model, 4000, 3);
  logits(context, head);
  const std::vector<float> wanted = logits(context, tail);
  ASSERT_TRUE(context.truncate(10));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(context.decode(tokens));
  const auto whole = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(context.truncate(10));

  const auto done = decode_and_cancel(context, tokens, whole / 10);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  EXPECT_EQ(context.n_cached(), 10U);
  EXPECT_EQ(logits(context, tail), wanted);
}

TEST(Rpc, BusyServersAreErrorsAndLiveOn) {
  MRROPE_NEED_TINY_MODELS();
  MRROPE_NEED_RPC_SERVER();
  const RpcServer server;
  const int other_client = connect_to(server.port());
  const Result<LlamaModel> refused = LlamaModel::load(tiny("llama"), {.rpc = {server.endpoint()}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("does not answer"), std::string::npos) << refused.error().message;
  ::close(other_client);
  const Result<LlamaModel> model = LlamaModel::load(tiny("llama"), {.rpc = {server.endpoint()}});
  EXPECT_TRUE(model) << to_string(model.error());
}

TEST(Rpc, ServersThatCannotBeUsedAreErrors) {
  MRROPE_NEED_TINY_MODELS();
  const auto failure = [](const std::string& endpoint) {
    const Result<LlamaModel> model = LlamaModel::load(tiny("llama"), {.rpc = {endpoint}});
    return model ? Error{} : model.error();
  };
  int port = 0;
  ::close(listen_on_free_port(port));
  const std::string nobody = "127.0.0.1:" + std::to_string(port);
  EXPECT_EQ(failure(nobody).code, ErrorCode::io);
  EXPECT_EQ(to_string(failure(nobody)).find("rpc " + nobody + ": "), 0U);
  EXPECT_EQ(failure("no-port").code, ErrorCode::invalid_argument);
  EXPECT_EQ(failure("localhost:").code, ErrorCode::invalid_argument);

  // Something listens and says something else
  const int listener = listen_on_free_port(port);
  std::thread stranger([&] {
    const int client = ::accept(listener, nullptr, nullptr);
    EXPECT_EQ(::send(client, "SSH-2.0", 7, MSG_NOSIGNAL), 7);
    ::close(client);
  });
  EXPECT_EQ(failure("127.0.0.1:" + std::to_string(port)).code, ErrorCode::io);
  stranger.join();
  ::close(listener);
}

}  // namespace
}  // namespace mrrope::test

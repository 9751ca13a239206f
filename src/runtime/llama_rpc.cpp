// SPDX-License-Identifier: MIT
//
// ggml ends the process when a server cannot be reached, or is no RPC server, or speaks another version of the
// protocol. So we knock first: connect, say hello as ggml-rpc.cpp does, look at the version, hang up.
//
//   hello:  command 14 (1 byte), size 24 (8 bytes), 24 bytes of transport capabilities; none asked for
//   answer: size 28 (8 bytes), major, minor, patch, padding, 24 bytes of capabilities
#include "runtime/llama_rpc.h"

#include <fmt/format.h>
#include <ggml-rpc.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

namespace mrrope::runtime {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(5);

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

  // false if nothing happens before the deadline.
  [[nodiscard]] bool wait(short events, Clock::time_point deadline) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{fd_, events, 0};
    return left > 0 && ::poll(&entry, 1, static_cast<int>(left)) == 1;
  }

 private:
  int fd_;
};

Error server_error(const std::string& endpoint, std::string message) {
  return {ErrorCode::io, std::move(message), "--rpc " + endpoint};
}

// Connects without blocking for longer than the deadline. -1 and errno if that fails.
bool connect_within(const Socket& socket, const addrinfo& address, Clock::time_point deadline) {
  if (::connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  if (!socket.wait(POLLOUT, deadline)) {
    errno = ETIMEDOUT;
    return false;
  }
  int status = 0;
  socklen_t size = sizeof status;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &status, &size);
  errno = status;
  return status == 0;
}

// Whether the server answers, and if not why; `busy` if it takes the connection and then says nothing.
struct Answer {
  bool busy = false;
  std::optional<Error> error;
};

Answer knock(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == endpoint.size()) {
    return {false, Error{ErrorCode::invalid_argument, "expected host:port, found \"" + endpoint + "\"", "--rpc"}};
  }
  addrinfo hints{};
  hints.ai_family = AF_INET;  // ggml's transport knows no other
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int status =
      ::getaddrinfo(endpoint.substr(0, colon).c_str(), endpoint.substr(colon + 1).c_str(), &hints, &list);
  if (status != 0) return {false, server_error(endpoint, ::gai_strerror(status))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);

  const Clock::time_point deadline = Clock::now() + kPatience;
  const Socket socket(::socket(list->ai_family, list->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, list->ai_protocol));
  if (!connect_within(socket, *list, deadline)) {
    return {false, server_error(endpoint, std::string("no RPC server there: ") + std::strerror(errno))};  // NOLINT
  }

  // Say hello
  std::array<std::uint8_t, 1 + 8 + 24> hello{};
  hello[0] = 14;
  const std::uint64_t size = 24;
  std::memcpy(hello.data() + 1, &size, sizeof size);
  const bool sent = ::send(socket.fd(), hello.data(), hello.size(), MSG_NOSIGNAL) == std::ssize(hello);
  std::array<std::uint8_t, 8 + 28> answer{};
  std::size_t have = 0;
  while (sent && have < answer.size()) {
    if (!socket.wait(POLLIN, deadline)) {
      return {true, server_error(endpoint, "the server does not answer: busy with another client, or no RPC server")};
    }
    const ssize_t got = ::recv(socket.fd(), answer.data() + have, answer.size() - have, 0);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  std::uint64_t answer_size = 0;
  std::memcpy(&answer_size, answer.data(), sizeof answer_size);
  if (have < answer.size() || answer_size != 28) {
    return {false, server_error(endpoint, "what listens there is no ggml RPC server")};
  }
  if (answer[8] != RPC_PROTO_MAJOR_VERSION || answer[9] > RPC_PROTO_MINOR_VERSION) {
    return {false,
            server_error(endpoint, fmt::format("the server speaks RPC protocol {}.{}.{}, this llama.cpp {}.{}.{}",
                                               answer[8], answer[9], answer[10], RPC_PROTO_MAJOR_VERSION,
                                               RPC_PROTO_MINOR_VERSION, RPC_PROTO_PATCH_VERSION))};
  }
  return {};
}

bool is_rpc(ggml_backend_dev_t device) {
  return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "RPC") == 0;
}

std::vector<ggml_backend_dev_t> registered(const std::string& endpoint) {
  std::vector<ggml_backend_dev_t> found;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (is_rpc(device) && endpoint == ggml_backend_dev_description(device)) found.push_back(device);
  }
  return found;
}

Result<std::vector<ggml_backend_dev_t>> server_devices(const std::string& endpoint) {
  const std::vector<ggml_backend_dev_t> known = registered(endpoint);
  const Answer answer = knock(endpoint);
  // A server serves one client at a time; if that is this process, ggml goes on using its connection.
  if (answer.error && !(answer.busy && !known.empty())) return *answer.error;
  if (!known.empty()) return known;

  ggml_backend_reg_t rpc = ggml_backend_reg_by_name("RPC");
  using AddServer = ggml_backend_reg_t (*)(const char*);
  void* function = rpc == nullptr ? nullptr : ggml_backend_reg_get_proc_address(rpc, "ggml_backend_rpc_add_server");
  if (function == nullptr) {
    return Error{ErrorCode::unsupported, "this llama.cpp was built without GGML_RPC", "--rpc"};
  }
  ggml_backend_reg_t server = reinterpret_cast<AddServer>(function)(endpoint.c_str());
  if (server == nullptr) return server_error(endpoint, "the server offers no device");
  ggml_backend_register(server);
  return registered(endpoint);
}

}  // namespace

Result<std::vector<ggml_backend_dev_t>> offload_devices(const std::vector<std::string>& rpc) {
  static std::mutex registry;  // ggml's list of backends has no lock of its own
  const std::lock_guard lock(registry);
  std::vector<ggml_backend_dev_t> devices;
  for (const std::string& endpoint : rpc) {
    Result<std::vector<ggml_backend_dev_t>> server = server_devices(endpoint);
    if (!server) return std::move(server).error();
    devices.insert(devices.end(), server->begin(), server->end());
  }

  // Integrated GPUs only where there are no others, as llama.cpp chooses
  std::vector<ggml_backend_dev_t> integrated;
  bool discrete = false;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    const auto type = ggml_backend_dev_type(device);
    if (type == GGML_BACKEND_DEVICE_TYPE_GPU && !is_rpc(device)) {
      devices.push_back(device);
      discrete = true;
    } else if (type == GGML_BACKEND_DEVICE_TYPE_IGPU) {
      integrated.push_back(device);
    }
  }
  if (!discrete) devices.insert(devices.end(), integrated.begin(), integrated.end());
  devices.push_back(nullptr);
  return devices;
}

}  // namespace mrrope::runtime

// SPDX-License-Identifier: MIT
//
// ggml ends the process when a server cannot be reached, or is no RPC server, or speaks another version of the
// protocol. So we ask first, and carefully: a server serves one client after the other, and one that answers a client
// who has hung up in the meantime dies of SIGPIPE (v0.5.0).
//
//   knock: connect and end our side at once; a free server hangs up too, a busy one will do so without an answer
//   hello: command 14 (1 byte), size 24 (8 bytes), 24 bytes of transport capabilities; none asked for
//          answer: size 28 (8 bytes), major, minor, patch, padding, 24 bytes of capabilities
#include "llama/rpc.h"

#include <fmt/format.h>
#include <ggml-rpc.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

namespace mrrope::llama {

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
  return {ErrorCode::io, std::move(message), endpoint, "rpc"};
}

Error no_rpc_server(const std::string& endpoint) {
  return server_error(endpoint, "what listens there is no ggml RPC server");
}

// false and errno if there is no connection before the deadline.
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

Result<std::unique_ptr<Socket>> connect_to(const std::string& endpoint, Clock::time_point deadline) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == endpoint.size()) {
    return Error{ErrorCode::invalid_argument, "expected host:port, found \"" + endpoint + "\"", "", "rpc"};
  }
  addrinfo hints{};
  hints.ai_family = AF_INET;  // ggml's transport knows no other
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  if (const int status = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list); status != 0) {
    return server_error(endpoint, ::gai_strerror(status));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  auto socket = std::make_unique<Socket>(
      ::socket(list->ai_family, list->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, list->ai_protocol));
  if (!connect_within(*socket, *list, deadline)) {
    return server_error(endpoint, std::string("no RPC server there: ") + std::strerror(errno));  // NOLINT
  }
  return socket;
}

Result<void> knock(const std::string& endpoint, Clock::time_point deadline) {
  const Result<std::unique_ptr<Socket>> socket = connect_to(endpoint, deadline);
  if (!socket) return socket.error();
  ::shutdown((*socket)->fd(), SHUT_WR);
  if (!(*socket)->wait(POLLIN, deadline)) {
    return server_error(endpoint, "the server does not answer: busy with another client, or no RPC server");
  }
  char byte = 0;
  if (::recv((*socket)->fd(), &byte, 1, 0) > 0) return no_rpc_server(endpoint);
  return {};
}

Result<void> hello(const std::string& endpoint, Clock::time_point deadline) {
  const Result<std::unique_ptr<Socket>> socket = connect_to(endpoint, deadline);
  if (!socket) return socket.error();
  std::array<std::uint8_t, 1 + 8 + 24> question{};
  question[0] = 14;
  question[1] = 24;
  const bool sent = ::send((*socket)->fd(), question.data(), question.size(), MSG_NOSIGNAL) == std::ssize(question);
  std::array<std::uint8_t, 8 + 28> answer{};
  std::size_t have = 0;
  while (sent && have < answer.size() && (*socket)->wait(POLLIN, deadline)) {
    const ssize_t got = ::recv((*socket)->fd(), answer.data() + have, answer.size() - have, 0);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  const std::array<std::uint8_t, 8> size = {28};
  if (have < answer.size() || !std::equal(size.begin(), size.end(), answer.begin())) return no_rpc_server(endpoint);
  if (answer[8] != RPC_PROTO_MAJOR_VERSION || answer[9] > RPC_PROTO_MINOR_VERSION) {
    return server_error(
        endpoint, fmt::format("the server speaks RPC protocol {}.{}.{}, this llama.cpp {}.{}.{}", answer[8], answer[9],
                              answer[10], RPC_PROTO_MAJOR_VERSION, RPC_PROTO_MINOR_VERSION, RPC_PROTO_PATCH_VERSION));
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
  const Clock::time_point deadline = Clock::now() + kPatience;
  if (std::vector<ggml_backend_dev_t> known = registered(endpoint); !known.empty()) {
    // It may be busy with us: ggml goes on using its connection. So only see whether it is still there.
    const Result<std::unique_ptr<Socket>> socket = connect_to(endpoint, deadline);
    if (!socket) return socket.error();
    return known;
  }
  if (const auto ok = knock(endpoint, deadline); !ok) return ok.error();
  if (const auto ok = hello(endpoint, deadline); !ok) return ok.error();

  ggml_backend_reg_t rpc = ggml_backend_reg_by_name("RPC");
  using AddServer = ggml_backend_reg_t (*)(const char*);
  void* function = rpc == nullptr ? nullptr : ggml_backend_reg_get_proc_address(rpc, "ggml_backend_rpc_add_server");
  if (function == nullptr) {
    return Error{ErrorCode::unsupported, "this llama.cpp was built without GGML_RPC", "", "rpc"};
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

}  // namespace mrrope::llama

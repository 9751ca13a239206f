// SPDX-License-Identifier: MIT
//
// A server on the loopback that does what a test tells it to, byte by byte, and the shortest way to put questions to
// it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mrrope/servers.h"

namespace mrrope::test {

using std::chrono::milliseconds;

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Whatever the environment says, the loopback is reached without a proxy.
inline const bool kNoProxy = ::setenv("no_proxy", "*", 1) == 0;

struct Question {
  std::string method, path, head, body;

  [[nodiscard]] std::string prompt() const { return nlohmann::json::parse(body).value("prompt", ""); }
};

inline std::string http(int status, const std::string& body, const std::string& more_headers = "",
                        const std::string& type = "application/json") {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more_headers + "\r\n" + body;
}

// What a well-behaved server says to /v1/completions.
inline std::string completion(const std::string& text) {
  const nlohmann::json body = {{"choices", {{{"index", 0}, {"text", text}, {"finish_reason", "stop"}}}},
                               {"usage", {{"prompt_tokens", 7}, {"completion_tokens", 3}}}};
  return http(200, body.dump());
}

class StubServer {
 public:
  class Caller {
   public:
    // false: the other side is gone, or the test is over.
    bool send(const std::string& bytes) const {
      std::size_t sent = 0;
      while (sent < bytes.size()) {
        const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += static_cast<std::size_t>(n);
      }
      return true;
    }
    // false: the test is over.
    [[nodiscard]] bool sleep(milliseconds time) const { return owner_.sleep(time); }
    // Until the caller hangs up or the test is over; true: it hung up.
    [[nodiscard]] bool wait_for_hangup() const {
      while (owner_.sleep(milliseconds(5))) {
        pollfd entry{fd_, POLLRDHUP, 0};
        if (::poll(&entry, 1, 0) == 1) return true;
      }
      return false;
    }

   private:
    friend class StubServer;
    Caller(StubServer& owner, int fd) : owner_(owner), fd_(fd) {}
    StubServer& owner_;
    int fd_;
  };

  // Called on a thread of its own for each connection, once per POST; false: hang up.
  using Behaviour = std::function<bool(const Caller&, const Question&)>;

  // `pages`: what GET of a path gives; without any, every GET gives `models`.
  explicit StubServer(Behaviour behaviour, int port = 0, std::string models = http(200, "{\"data\":[]}"),
                      std::map<std::string, std::string> pages = {})
      : behaviour_(std::move(behaviour)), models_(std::move(models)), pages_(std::move(pages)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 128) != 0) {
      throw std::runtime_error("no port for the stub server");
    }
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~StubServer() { kill(); }
  StubServer(const StubServer&) = delete;
  StubServer& operator=(const StubServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int posts() const { return posts_; }

  // As if the process were gone.
  void kill() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      for (const int fd : callers_) ::shutdown(fd, SHUT_RDWR);
    }
    changed_.notify_all();
    if (acceptor_.joinable()) acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // As if it were stopped: connections are taken, nothing is answered any more.
  void freeze() { frozen_ = true; }

 private:
  bool sleep(milliseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [this] { return over_; });
  }
  bool thaw() {
    while (frozen_) {
      if (!sleep(milliseconds(5))) return false;
    }
    return true;
  }

  void accept_all() {
    for (;;) {
      pollfd entry{listener_, POLLIN, 0};
      const bool waiting = ::poll(&entry, 1, 5) == 1;
      const std::lock_guard lock(mutex_);
      if (over_) break;
      const int fd = waiting ? ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC) : -1;
      if (fd < 0) continue;
      const int yes = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      callers_.push_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
    ::close(listener_);
  }

  void serve(int fd) {
    const Caller caller(*this, fd);
    std::string received;
    while (std::optional<Question> question = read(fd, received)) {
      if (!thaw()) break;
      if (question->method == "GET") {
        const auto page = pages_.find(question->path);
        if (!caller.send(page != pages_.end() ? page->second : pages_.empty() ? models_ : http(404, ""))) break;
        continue;
      }
      ++posts_;
      if (!behaviour_(caller, *question) || !thaw()) break;
    }
    const std::lock_guard lock(mutex_);
    callers_.remove(fd);
    ::close(fd);
  }

  static std::optional<Question> read(int fd, std::string& received) {
    for (;;) {
      const std::size_t end = received.find("\r\n\r\n");
      if (end != std::string::npos) {
        Question question;
        question.head = received.substr(0, end + 2);
        const std::size_t at = question.head.find("Content-Length: ");
        const std::size_t length = at == std::string::npos ? 0 : std::stoul(question.head.substr(at + 16));
        if (received.size() >= end + 4 + length) {
          question.body = received.substr(end + 4, length);
          question.method = question.head.substr(0, question.head.find(' '));
          question.path = question.head.substr(question.method.size() + 1);
          question.path.resize(question.path.find(' '));
          received.erase(0, end + 4 + length);
          return question;
        }
      }
      char buffer[4096];
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return std::nullopt;
      received.append(buffer, static_cast<std::size_t>(n));
    }
  }

  Behaviour behaviour_;
  std::string models_;
  std::map<std::string, std::string> pages_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> posts_ = 0;
  std::atomic<bool> frozen_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::list<int> callers_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

// Answers "<prompt>, answered" after a while.
inline StubServer::Behaviour honest(milliseconds delay = milliseconds(0)) {
  return [delay](const StubServer::Caller& caller, const Question& question) {
    return caller.sleep(delay) && caller.send(completion(question.prompt() + ", answered"));
  };
}

// Servers that share it answer nobody until `size` questions wait at once, and then those: what a client keeps in
// flight, however busy the machine is. After `last` such meetings they answer at once; without it, the number of
// questions is a multiple of `size`.
class Meeting {
 public:
  explicit Meeting(std::size_t size, std::size_t last = SIZE_MAX) : size_(size), last_(last) {}

  StubServer::Behaviour behaviour() {
    return [this](const StubServer::Caller& caller, const Question& question) {
      const std::size_t round = arrive();
      while (round == rounds_ && round < last_) {
        if (!caller.sleep(milliseconds(1))) return false;
      }
      return caller.send(completion(question.prompt() + ", answered"));
    };
  }

 private:
  std::size_t arrive() {
    const std::lock_guard lock(mutex_);
    const std::size_t round = rounds_;
    if (++waiting_ == size_) {
      waiting_ = 0;
      ++rounds_;
    }
    return round;
  }

  const std::size_t size_, last_;
  std::mutex mutex_;
  std::size_t waiting_ = 0;
  std::atomic<std::size_t> rounds_ = 0;
};

// Sends these bytes, whatever the question, and hangs up.
inline StubServer::Behaviour says(const std::string& bytes) {
  return [bytes](const StubServer::Caller& caller, const Question&) {
    caller.send(bytes);
    return false;
  };
}

struct Outcome {
  Result<void> run;
  std::vector<int> calls;  // of done, per request
  std::map<std::size_t, Result<ServerAnswer>> answers;

  [[nodiscard]] bool each_answered_once() const {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto found = answers.find(i);
      if (calls[i] != 1 || !found->second || found->second->text != "prompt " + std::to_string(i) + ", answered") {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::map<std::string, int> by_server() const {
    std::map<std::string, int> counts;
    for (const auto& [i, answer] : answers) {
      if (answer) ++counts[answer->server];
    }
    return counts;
  }
};

// Asks "prompt 0" … "prompt n-1". `after` is called after each answer, with all there are by then.
inline Outcome ask(const ServerOptions& options, std::size_t n,
                   const std::function<void(const Outcome&)>& after = nullptr,
                   const std::atomic<bool>* cancel = nullptr) {
  Outcome outcome;
  outcome.calls.resize(n);
  const auto make = [](std::size_t i) -> Result<ServerRequest> {
    return ServerRequest{.prompt = "prompt " + std::to_string(i)};
  };
  const auto done = [&](std::size_t i, const Result<ServerAnswer>& answer) -> Result<void> {
    ++outcome.calls.at(i);
    outcome.answers.insert_or_assign(i, answer);
    if (after) after(outcome);
    return {};
  };
  outcome.run = run_requests(options, n, make, done, cancel);
  return outcome;
}

// A port nobody listens on.
inline int closed_port() { return StubServer(honest()).port(); }

}  // namespace mrrope::test

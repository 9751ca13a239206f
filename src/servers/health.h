// SPDX-License-Identifier: MIT
//
// How much a server is trusted with at the moment. Knows the time and what happened, nothing of connections.
//
//            three failures in a row                 a probe succeeds
//   trusted ─────────────────────────► aside ─────────────────────────► trusted, one request at a time,
//      ▲  └─ busy (429, 503): fewer      └─ probe fails: twice            one more with every answer
//      └──── requests, after a rest         the rest, up to a minute
//
// A server begins aside, with a probe that is due: a wrong URL is found before a prompt is made.
#pragma once

#include <chrono>
#include <random>

namespace mrrope::servers {

using Clock = std::chrono::steady_clock;

// `doublings` times doubled from `first`, at most a minute, spread by chance over its upper half so that many clients
// do not come back at once.
Clock::duration pause(Clock::duration first, int doublings, std::minstd_rand& random);

class ServerHealth {
 public:
  static constexpr int kFailures = 3;  // in a row, until a server is put aside

  explicit ServerHealth(int concurrency) : concurrency_(concurrency), window_(concurrency) {}

  // Requests it may have in flight now.
  [[nodiscard]] int window(Clock::time_point now) const { return trusted_ && now >= rest_until_ ? window_ : 0; }
  [[nodiscard]] bool probe_due(Clock::time_point now) const { return !trusted_ && now >= rest_until_; }
  [[nodiscard]] bool trusted() const { return trusted_; }
  // Nothing ever came from there, and it was asked often enough.
  [[nodiscard]] bool hopeless() const { return !seen_ && failures_ >= kFailures; }

  void answered();
  void busy(Clock::time_point now, double retry_after_s, std::minstd_rand& random);  // retry_after_s 0: not said
  void failed(Clock::time_point now, std::minstd_rand& random);
  // A probe was answered well; if not, it failed().
  void back();
  // A probe was answered at all, even if with "not now": there is a server, and it may get well.
  void seen() { seen_ = true; }

 private:
  int concurrency_;
  int window_;
  bool trusted_ = false;
  bool seen_ = false;
  int failures_ = 0;  // in a row
  int rests_ = 0;     // in a row
  Clock::time_point rest_until_ = {};
};

}  // namespace mrrope::servers

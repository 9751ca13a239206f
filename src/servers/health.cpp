// SPDX-License-Identifier: MIT
#include "servers/health.h"

#include <algorithm>

namespace mrrope::servers {

namespace {

constexpr Clock::duration kLongest = std::chrono::minutes(1);
constexpr Clock::duration kFirstRest = std::chrono::milliseconds(500);

}  // namespace

Clock::duration pause(Clock::duration first, int doublings, std::minstd_rand& random) {
  const Clock::duration full = std::min(kLongest, first * (1 << std::clamp(doublings, 0, 12)));
  const double share = std::uniform_real_distribution<double>(0.5, 1)(random);
  return std::chrono::duration_cast<Clock::duration>(full * share);
}

void ServerHealth::answered() {
  failures_ = 0;
  rests_ = 0;
  window_ = std::min(concurrency_, window_ + 1);
}

void ServerHealth::busy(Clock::time_point now, double retry_after_s, std::minstd_rand& random) {
  failures_ = 0;
  // Requests that were in flight together say so together: that is one time.
  if (now < rest_until_) return;
  window_ = std::max(1, window_ / 2);
  rest_until_ =
      now + (retry_after_s > 0 ? std::min(kLongest, std::chrono::duration_cast<Clock::duration>(
                                                        std::chrono::duration<double>(std::min(retry_after_s, 1e3))))
                               : pause(kFirstRest, rests_++, random));
}

void ServerHealth::failed(Clock::time_point now, std::minstd_rand& random) {
  ++failures_;
  if (trusted_ && failures_ < kFailures) return;
  // What was in flight when it was put aside says nothing new.
  if (!trusted_ && now < rest_until_) return;
  trusted_ = false;
  rest_until_ = now + pause(kFirstRest, rests_++, random);
}

void ServerHealth::back() {
  window_ = seen_ ? 1 : concurrency_;
  seen_ = true;
  trusted_ = true;
  failures_ = std::min(failures_, kFailures - 1);  // if it had failed, the next failure puts it aside again
}

}  // namespace mrrope::servers

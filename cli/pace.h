// SPDX-License-Identifier: MIT
//
// How often a log hears of progress: a line now and then says that it goes on; one per step would bury the rest.
#pragma once

#include <chrono>

namespace mrrope::cli {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  Pace(Clock::time_point start, Clock::duration every) : last_(start), every_(every) {}

  // Whether a line is due: `every` has passed since the last one, or since the start.
  bool is_due(Clock::time_point now) {
    if (now - last_ < every_) return false;
    last_ = now;
    return true;
  }

 private:
  Clock::time_point last_;
  Clock::duration every_;
};

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// The line a person watches while a measurement runs: done and total, rate, time left, the best plan so far, and what
// is being measured now.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "mrrope/measure.h"
#include "mrrope/records.h"

namespace mrrope::cli {

// The best plan among the records of a run, kept up to date as they come: the highest mean score, or the lowest mean
// loss at the longest length, of plans that have seen as much as any other.
class BestSoFar {
 public:
  void add(const eval::Record& record);
  // "best mrrope-pro x4 93.2 %", "best yarn x4 3.610"; empty with fewer than two plans.
  [[nodiscard]] std::string text() const;

 private:
  struct Sum {
    double value = 0;
    std::size_t count = 0;
  };
  using Sums = std::map<std::pair<std::string, double>, Sum>;
  Sums answers_, readings_;  // a search has both; then readings count, which tell plans apart earlier
};

// How long the tokens of Progress took. A search measures many times, and counts from 0 each time.
class ProgressClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressClock(Clock::time_point start) : start_(start) {}
  double seconds(std::int64_t tokens, Clock::time_point now);

 private:
  Clock::time_point start_;
  std::int64_t tokens_ = 0;
};

// "12/70  812 tokens/s  3:10 left  best yarn x4 3.610  mrrope-pro x4, algebra.tex", at most `width` columns.
std::string progress_line(const eval::Progress& progress, double seconds, const std::string& best, std::size_t width);

}  // namespace mrrope::cli

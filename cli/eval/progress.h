// SPDX-License-Identifier: MIT
//
// The line a person watches while a measurement runs: done and total, rate, time left, the best plan so far, and what
// is being measured now.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "mrrope/perplexity.h"
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
  std::map<std::pair<std::string, double>, Sum> plans_;
  bool scores_ = false;
};

// "12/70  812 tokens/s  3:10 left  best yarn x4 3.610  mrrope-pro x4, algebra.tex", at most `width` columns.
std::string progress_line(const eval::Progress& progress, double seconds, const std::string& best, std::size_t width);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// How far a measurement is, and whether it shall stop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "mrrope/measure.h"
#include "mrrope/result.h"

namespace mrrope::eval {

// Counts tokens over all passes and tells whoever listens, five times a second.
class Meter {
 public:
  Meter(const Control& control, std::size_t items, std::int64_t tokens_total);
  void start(std::string what);
  void advance(std::int64_t tokens);
  // A pass that was already there does not count.
  void skip(std::int64_t tokens);
  // Where the work is not known from the start: one more item.
  void expect(std::int64_t tokens);
  [[nodiscard]] bool cancelled() const;

 private:
  const Control& control_;
  Progress progress_;
  std::chrono::steady_clock::time_point last_;
};

inline Error cancelled_error() { return {ErrorCode::cancelled, "interrupted; what was finished is kept", ""}; }

}  // namespace mrrope::eval

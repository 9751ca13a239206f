// SPDX-License-Identifier: MIT
//
// Rows of a needle picture: the depths that were asked for, or tenths of the text.
#pragma once

#include <span>
#include <string>

#include "mrrope/records.h"

namespace mrrope::report {

class Depths {
 public:
  // What `--depths` of the runs' commands says; tenths where they differ or do not say it.
  explicit Depths(std::span<const RunInfo> runs);

  [[nodiscard]] int count() const noexcept { return steps_ > 1 ? steps_ : 10; }
  // The row of a needle: the nearest depth that was asked for. Needles stand between sentences, a little beside it.
  [[nodiscard]] int row(double depth) const noexcept;
  [[nodiscard]] std::string name(int row) const;  // "50 %", "40-50 %"

 private:
  int steps_ = 0;  // 0: tenths
};

}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
//
// Rows of a needle picture: the depths that were asked for, or tenths of the text.
#pragma once

#include <string>
#include <vector>

#include "mrrope/answers.h"

namespace mrrope::report {

class Depths {
 public:
  // The depths that were asked for; tenths where some needles, or more than a hundred, have none.
  explicit Depths(const eval::Answers& answers);

  [[nodiscard]] int count() const noexcept { return asked_.empty() ? 10 : static_cast<int>(asked_.size()); }
  // The row of a needle: what was asked for, if that is what rows are. It stands between sentences, and before the
  // question, a little beside it.
  [[nodiscard]] int row(const eval::Answers::Needle& needle) const noexcept;
  [[nodiscard]] std::string name(int row) const;  // "50 %", "40-50 %"

 private:
  std::vector<float> asked_;  // ascending; empty: tenths
};

}  // namespace mrrope::report

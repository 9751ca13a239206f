// SPDX-License-Identifier: MIT
//
// What runs say that plans cost: perplexity inside the trained length against the model as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/mrrope.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

struct MeasuredPlan {
  Method method;
  double cost = 0;  // of the perplexity inside the trained length, relatively; at least 0
  std::string why;  // for people
};

class MeasuredCosts {
 public:
  // Errors: no run of perplexity, a run of another model (its trained length), none of the model as it is.
  static Result<MeasuredCosts> read(const std::vector<std::string>& runs, std::int64_t context_trained);

  // Of the methods that were measured with a table for `length`, at this length, the one that reads it best; nothing:
  // none was.
  [[nodiscard]] std::optional<MeasuredPlan> best(std::int64_t length) const;

 private:
  std::vector<eval::PplRow> rows_;
  std::int64_t trained_ = 0;
  eval::PplRow as_it_is_;  // at the longest length inside the trained one
};

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// Loss by position in the text, for plans that were measured on the same texts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mrrope/statistics.h"
#include "runs/readings.h"

namespace mrrope::report {

struct LossCurves {
  std::vector<eval::PlanName> plans = {};
  std::vector<std::vector<double>> nll =
      {};                               // by plan: mean of -ln p, nats a token, over the stretch that ends at `ends`
  std::vector<std::int64_t> ends = {};  // tokens
  std::int64_t stretch = 0;             // tokens of one, but perhaps the last
  std::size_t documents = 0;            // that all plans have been measured on to the last stretch
};

// At most `points` stretches. Nothing if readings have other stretches than each other, fewer than four, or no text in
// common.
std::optional<LossCurves> loss_curves(const eval::Readings& readings, std::size_t points);

}  // namespace mrrope::report

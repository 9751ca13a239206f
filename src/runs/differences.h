// SPDX-License-Identifier: MIT
//
// Verdicts on differences between two plans, sample by sample; sorted here, so that their order does not matter.
#pragma once

#include <vector>

#include "mrrope/statistics.h"

namespace mrrope::eval {

ScoreComparison compare_differences(std::vector<double> points);  // 100 (a - b)
NllComparison compare_nll_differences(std::vector<double> nats);  // a - b, per token

}  // namespace mrrope::eval

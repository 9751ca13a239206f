// SPDX-License-Identifier: MIT
//
// What both kinds of comparison share: perplexities (cmd_compare.cpp) and scores of tasks (compare_scores.cpp).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/records.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

struct CompareOptions {
  std::vector<std::string> runs;
  std::string baseline;
  bool last = false;
  bool by_task = false;
  bool json = false;
};

// choose_baseline(), and an error if there is nothing to compare it with.
Result<eval::PlanName> baseline_of(const CompareOptions& options, const std::vector<eval::PlanName>& plans);

struct Compared {
  base::Json json;
  std::string text;
};
// Of records with answers.
Result<Compared> compare_answers(const CompareOptions& options, const std::vector<eval::Record>& records,
                                 const eval::RunInfo& info);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// What both kinds of comparison share: perplexities (cmd_compare.cpp) and scores of tasks (compare_scores.cpp).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/answers.h"
#include "mrrope/records.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

struct CompareOptions {
  std::vector<std::string> runs;
  std::string baseline;
  bool last = false;
  std::string by;  // "task", or a label of the items
  bool json = false;
};

struct Compared {
  base::Json json;
  std::string text;
};
// A plan, what it is compared with, and what the line is called.
struct PlanPair {
  eval::PlanName plan, base;
  std::string name;
};
// Plans that were measured with several types of cache: each type against the run's own, under the same plan.
std::vector<PlanPair> cache_pairs(const std::vector<eval::PlanName>& plans);
// The type of the run's own cache, for people.
std::string own_cache(const eval::RunInfo& info);

// Of records with answers, closed. Of one plan there are scores and nothing to compare.
Result<Compared> compare_answers(const CompareOptions& options, const eval::Answers& answers,
                                 const eval::RunInfo& info);

}  // namespace mrrope::cli

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
  std::string by;  // "task", or a label of the items
  bool json = false;
};

struct Compared {
  base::Json json;
  std::string text;
};
// Of records with answers. Of one plan there are scores and nothing to compare.
Result<Compared> compare_answers(const CompareOptions& options, std::vector<eval::Record> records,
                                 const eval::RunInfo& info);

}  // namespace mrrope::cli

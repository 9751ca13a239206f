// SPDX-License-Identifier: MIT
//
// What both kinds of comparison share: perplexities (cmd_compare.cpp) and scores of tasks (compare_scores.cpp).
#pragma once

#include <string>
#include <vector>

#include "mrrope/records.h"

namespace mrrope::cli {

struct CompareOptions {
  std::vector<std::string> runs;
  std::string baseline;
  bool last = false;
  bool by_task = false;
  bool json = false;
};

struct PlanName {
  std::string method;
  double factor = 1;
  bool operator==(const PlanName&) const = default;
  [[nodiscard]] std::string text() const;  // "mrrope-pro x4"
};

// Without a wish: the deployed YaRN, which most people have; else the file as it is; else the first. An error if there
// is nothing to compare it with.
Result<PlanName> baseline_of(const CompareOptions& options, const std::vector<PlanName>& plans);

int print_score_comparison(const CompareOptions& options, const std::vector<Record>& records);

}  // namespace mrrope::cli

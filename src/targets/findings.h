// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "mrrope/findings.h"

namespace mrrope::targets {

struct Reporter {
  std::vector<Finding> findings;
  // Severity comes from the catalogue.
  void report(std::string_view code, std::string message, std::string advice);
};

void diagnose_gguf(const GgufModel& model, Reporter& out);
void diagnose_hf(const HfConfig& config, Reporter& out);

}  // namespace mrrope::targets

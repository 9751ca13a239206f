// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "mrrope/findings.h"

namespace mrrope::targets {

struct Reporter {
  std::string_view target = {};  // the one engine that is asked about, by its name; empty: all
  std::vector<Finding> findings = {};

  // Severity comes from the catalogue. `concerns`: the engines for which it matters, by name; empty: all.
  void report(std::string_view code, std::string message, std::string advice,
              const std::vector<std::string_view>& concerns = {});
};

const FindingInfo& finding_info(std::string_view code);

void diagnose_gguf(const GgufModel& model, Reporter& out);
void diagnose_hf(const HfConfig& config, Reporter& out);

// Whether a config.json is that of a model that does not rotate at all (Mamba, GPT-2, ALiBi).
bool never_rotates(const HfConfig& config);

}  // namespace mrrope::targets

// SPDX-License-Identifier: MIT
//
// Findings, with the severity that the catalogue gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mrrope/probe.h"

namespace mrrope::probe {

struct Report {
  std::vector<Finding> findings = {};

  // Domain: a code of the catalogue.
  void add(std::string_view code, std::string message, std::string advice);
};

}  // namespace mrrope::probe

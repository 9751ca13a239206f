// SPDX-License-Identifier: MIT
//
// mrrope plan --method climb:…: the rungs of a text that climbs.
#pragma once

#include <string>

#include "cli/input.h"

namespace mrrope::cli {

// The text, or with `json` the ladder file; the exit status.
int print_climb(const ModelOptions& options, const Model& model, const std::string& method, bool json);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::eval {

// The files that `patterns` name, with * and ?, in the order given, names within a pattern sorted. What else
// a pattern with * finds is passed over; a folder or a pipe that is named itself is an Error.
Result<std::vector<std::string>> files_of(std::span<const std::string> patterns);

}  // namespace mrrope::eval

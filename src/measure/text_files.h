// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::eval {

// The files that `patterns` name, with * and ?, in the order given, names within a pattern sorted. What else
// a pattern with * finds is passed over; a folder or a pipe that is named itself is an Error.
Result<std::vector<std::string>> files_of(std::span<const std::string> patterns);

// The beginning of a file's text, at most `most` bytes; of a file of documents (holds_documents()) theirs, with an
// empty line between them.
Result<std::string> beginning_of(const std::string& path, std::size_t most);

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// New folders, and the files that a pattern names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::base {

// The folder, if it is not there yet; as open as the umask lets it be. Its parent has to be there.
Result<void> make_folder(const std::string& path);

// A new folder "<start>.XXXXXX", with letters that nobody has taken; `start` is a path. Nobody else looks into it.
Result<std::string> make_unique_folder(const std::string& start);

// Gives a folder its name in one step. Errors: the name is taken.
Result<void> name_folder(const std::string& folder, const std::string& name);

// Paths of everything that the pattern names, sorted: * and ? stand for letters of one name; on Windows of the last
// one. Empty: there is nothing.
std::vector<std::string> paths_like(const std::string& pattern);

// How many files and connections this process may have open; the largest number where there is no such limit.
std::uint64_t most_open_files() noexcept;

}  // namespace mrrope::base

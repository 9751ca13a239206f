// SPDX-License-Identifier: MIT
//
// Links to files and folders: what they say, and making them.
#pragma once

#include <string>

#include "mrrope/result.h"

namespace mrrope::base {

// What a link in `folder` says to lead to `path`: the way from one to the other, so that both can be moved together.
// Both are taken as the system sees them, because a link counts from the folder in which it lies, whatever names led
// there; the last part of `path` may be a link itself. Errors: one of the two folders is not there.
Result<std::string> relative_link(const std::string& path, const std::string& folder);

// Makes the symbolic link `link`, which says `way`. Windows has that for few people; there a file gets a second name (a
// hard link) instead. Errors: the name is taken; a folder, or a file on another disk, where there are no such links.
Result<void> add_link(const std::string& way, const std::string& link);

bool is_symbolic_link(const std::string& path);
// An Error if a name on the way from `folder` to `folder`/`below` is one: what is written below a folder that somebody
// named must lie in it, whoever prepared the folder. Names that are not there yet are none.
Result<void> check_no_links(const std::string& folder, const std::string& below);

// Whether add_link() may have made it: on Windows, also a file with several names.
bool is_added_link(const std::string& path);

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
//
// What symbolic links say.
#pragma once

#include <string>

#include "mrrope/result.h"

namespace mrrope::base {

// What a link in `folder` says to lead to `path`: the way from one to the other, so that both can be moved together.
// Both are taken as the system sees them, because a link counts from the folder in which it lies, whatever names led
// there; the last part of `path` may be a link itself. Errors: one of the two folders is not there.
Result<std::string> relative_link(const std::string& path, const std::string& folder);

}  // namespace mrrope::base

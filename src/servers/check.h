// SPDX-License-Identifier: MIT
//
// Options of a person, made ready or refused.
#pragma once

#include <vector>

#include "mrrope/servers.h"
#include "servers/url.h"

namespace mrrope::servers {

// The servers. Errors: invalid_argument, with the option as `where`; the key is never repeated.
Result<std::vector<ServerUrl>> check_options(const ServerOptions& options);

}  // namespace mrrope::servers

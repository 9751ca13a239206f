// SPDX-License-Identifier: MIT
//
// What every command that asks servers does before its first question. Only where libcurl is.
#pragma once

#include <string>

#include "cli/eval/server_flags.h"
#include "mrrope/result.h"
#include "mrrope/servers.h"

namespace mrrope::cli {

// The environment variable whose value is the key, unless another is named; a key itself is never an argument.
inline constexpr const char* kKeyVariable = "MRROPE_API_KEY";

// The options with the key that the variable holds. Says a word if it goes over a network unencrypted. Asks nothing:
// a password in a URL is refused before anything is recorded or printed. Errors: invalid_argument.
Result<ServerOptions> ready_servers(ServerOptions options, const std::string& key_variable);

// The same from flags. Errors: no name of a model; a flag that means nothing to servers.
Result<ServerOptions> servers_of(const ServerFlags& flags, bool chat = false);

}  // namespace mrrope::cli

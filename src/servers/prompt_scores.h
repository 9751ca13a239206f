// SPDX-License-Identifier: MIT
//
// How likely the tokens of a prompt are, as vLLM and SGLang tell it. A value is taken for the token that was sent, or
// not at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/json.h"
#include "mrrope/servers.h"
#include "servers/api.h"

namespace mrrope::servers {

// Domain of all of these: `scores` is not none.

// Errors: fewer than two tokens.
Result<std::string> scores_body(const ServerOptions& options, const ServerRequest& request);

// Of an answer's body: what is said of each token has up to 256 bytes, of a prompt of 200,000 tokens 50 MB. Larger
// answers are refused, as are those that base::parse_json() takes for too large.
std::size_t most_bytes(const Asked& asked);

// Empty: the server does not know what it was asked for, and leaves it out. Throws base::Rejected with the place: more
// or fewer values than tokens, another token, no log probability.
std::optional<ServerAnswer> scores_in(PromptScores scores, const base::Json& answer, const Asked& asked);
// The error of such a server.
Error no_scores(const ServerUrl& server);

}  // namespace mrrope::servers

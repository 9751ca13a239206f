// SPDX-License-Identifier: MIT
//
// What is said to an OpenAI-compatible server, and what its answer means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mrrope/servers.h"
#include "servers/transfer.h"
#include "servers/url.h"

namespace mrrope::servers {

std::string_view completions_path(const ServerOptions& options);

// The JSON to post. Errors: text that is not UTF-8, max_tokens below 1, fewer than two tokens to score.
Result<std::string> request_body(const ServerOptions& options, const ServerRequest& request);

enum class Verdict {
  answer,   // here it is
  refused,  // this request cannot be answered: by no server
  again,    // what failed may pass
  busy,     // the same, and the server asks for time
  stop,     // every request will end like this
};

struct Reading {
  Verdict verdict = Verdict::again;
  ServerAnswer answer = {};  // with Verdict::answer; without server, seconds and attempts
  Error error = {};          // with the others; `where` is the server's URL
};

// What an answer is held against: the request, without what only its body needs.
struct Asked {
  std::string answer_prefix = {};
  std::vector<std::int32_t> tokens = {};
  bool fills_context = false;
};
Reading read_answer(const ServerOptions& options, const ServerUrl& server, const HttpResponse& response,
                    const Asked& asked);

// Is a probe (GET /v1/models) answered by something that may take requests? Redirects and 502 … 504, "not now", say no.
// Anything else will do: gateways do not know the path or want another key for it, and transformers serve answers 500
// where there is no cache of models, and works.
Reading read_probe(const ServerOptions& options, const ServerUrl& server, const HttpResponse& response);

// The same for an exchange without an answer.
Reading no_answer(const ServerOptions& options, const ServerUrl& server, const Error& error);

// "HTTP 500: CUDA out of memory": with the server's own words if it has any.
std::string status_text(const HttpResponse& response, std::string_view api_key);

// The beginning of what a server said, fit for a terminal and for a record: one line, at most 300 bytes of UTF-8, no
// control characters, and without_key().
std::string excerpt(std::string_view bytes, std::string_view api_key);

}  // namespace mrrope::servers

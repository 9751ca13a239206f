// SPDX-License-Identifier: MIT
//
// What a running server says of itself: which software it is, which model it serves, how long a request may be.
//
//   Result<ServerInfo> info = describe_server({.urls = {"http://localhost:8080"}});
//   info->software, info->advertised, info->advertised_by;      // "llama.cpp", 8192, "GET /props: n_ctx"
//
// Its words, and nothing else: mrrope/probing.h finds out what is true. What a server does not say is empty, and what
// cannot be (a negative length, a text where a number should be) counts as not said.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/result.h"
#include "mrrope/servers.h"

namespace mrrope {

// A length that the server states somewhere.
struct LengthClaim {
  std::int64_t tokens = 0;  // 1 … 2^30
  std::string by;           // "GET /v1/models: max_model_len"
  bool of_model = false;    // what the model's file says, whatever it was started with
  bool operator==(const LengthClaim&) const = default;
};

struct ServerInfo {
  std::string software = {};  // "llama.cpp", "vLLM", "SGLang", "Ollama", "TGI", "llama-cpp-python"; empty: unknown
  std::string version = {};   // in its own words
  std::string model = {};     // what a request has to name: ServerOptions::model, else the first that it lists
  std::string model_path = {};
  // Tokens of one request, prompt and answer: the least of what it claims, of_model only where that is all there is.
  std::optional<std::int64_t> advertised = {};
  std::string advertised_by = {};
  std::vector<LengthClaim> claims = {};  // all of them, in the order in which they were found
  std::optional<int> slots = {};         // requests at a time (llama-server)
  bool takes_token_ids = false;          // this software takes lists of tokens as prompts of /v1/completions
  int requests = 0;                      // that this took
};

// Asks options.urls.front(): GET /v1/models, and then only what the software it seems to be has; where nothing tells
// that, one endpoint of each. At most 8 small requests, 10 seconds each. Errors: the first request has no answer (io,
// HTTP 503 while a model is loaded) or one that ends everything (HTTP 401, 403: invalid_argument); cancelled.
Result<ServerInfo> describe_server(const ServerOptions& options, const std::atomic<bool>* cancel = nullptr);

}  // namespace mrrope

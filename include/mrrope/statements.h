// SPDX-License-Identifier: MIT
//
// Asks a running server for the log probabilities that tell its table (mrrope/fingerprint.h).
//
//   Statements said = *collect_statements(options, info, vocabulary, {.longest = 1024});
//   probe::Fingerprint search(suspects, said.statements);
//
// The prompts are prose in which every third sentence is one that was read before, so that attention reaches back over
// all distances that tables differ on. Each text is asked about at eight lengths, from a sixteenth of the longest on.
// Servers that take lists of tokens get those; others get texts, and are believed as far as their usage agrees.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/fingerprint.h"
#include "mrrope/result.h"
#include "mrrope/server_info.h"
#include "mrrope/servers.h"

namespace mrrope {

// The tokens of the model that runs here, which is the server's.
struct Vocabulary {
  std::function<Result<std::vector<std::int32_t>>(std::string_view text)> tokens;  // with what stands at the beginning
  std::function<Result<std::string>(std::span<const std::int32_t>)> text;          // without it
  std::function<std::optional<std::int32_t>(std::string_view)> named;  // the only token of this text, if there is one
  std::int32_t size = 0;
};

struct StatementOptions {
  std::int64_t longest = 1024;  // tokens of a prompt; as far as the server goes, if that is less
  int texts = 4;                // of which each is asked about eight times
  std::uint64_t seed = 1;
};

struct Statements {
  std::vector<probe::Statement> statements;
  bool whole_prompts = false;  // of every place (vLLM), else of the answers' tokens
  int requests = 0;
  std::int64_t prompt_tokens = 0;
};

// Requests and prompt tokens that collect_statements() takes at most.
int statement_requests(const StatementOptions& options);
std::int64_t statement_tokens(const StatementOptions& options);

// Errors: unsupported where the server gives no log probabilities, names tokens that are not the model's, or counts
// other tokens than the vocabulary does (then its model is another one); else as of ask_server.
Result<Statements> collect_statements(const ServerOptions& options, const ServerInfo& info,
                                      const Vocabulary& vocabulary, const StatementOptions& wanted,
                                      const std::atomic<bool>* cancel = nullptr);

}  // namespace mrrope

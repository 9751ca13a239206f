// SPDX-License-Identifier: MIT
//
// One question to one server, and all that it says in return: for those who look at the server rather than at answers
// (mrrope/probing.h). Runs of requests are in mrrope/servers.h.
//
//   Result<ServerReply> reply = ask_server(options, {.prompt = "one two three", .top = 5});
//   if (reply && reply->answered()) reply->top.front();            // the likeliest first tokens
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/result.h"
#include "mrrope/servers.h"

namespace mrrope {

struct ServerQuestion {
  std::string prompt = {};                // UTF-8: a completion's prompt, or the user's message of a chat
  std::vector<std::int32_t> tokens = {};  // instead of the text if there are any: llama-server, vLLM and SGLang
  int max_tokens = 1;
  int top = 0;                // log probabilities of so many likeliest tokens, 0 … 20; 0 = none
  bool top_of_chat = false;   // asked for as a chat does, "logprobs": true and "top_logprobs" (mlx-lm)
  bool whole_prompt = false;  // of every place in the prompt, too: vLLM's "prompt_logprobs"
  double temperature = 0;     // with a seed: the answer's tokens are drawn, their log probabilities stay the same
  std::uint64_t seed = 1;
  bool past_end = false;  // "ignore_eos": the answer goes on after an end of text (llama-server, vLLM, SGLang)
  std::optional<bool> cache_prompt = {};  // llama-server: whether what it computed for an earlier prompt may be used
  std::string cache_salt = {};            // vLLM: prompts with different salts share nothing; empty: none
};

struct TokenChance {
  std::string token;               // as the server writes it; at most 64 bytes of it
  std::optional<std::int32_t> id;  // its number, where the server tells
  double log_probability = 0;
  bool operator==(const TokenChance&) const = default;
};

struct ServerReply {
  int status = 200;
  std::string said = {};                   // unless answered(): "HTTP 400: …", fit to be printed
  std::vector<std::int64_t> numbers = {};  // unless answered(): those in its words, for it may name its limit there
  std::string text = {};
  std::string finish = {};                         // "stop", "length", …
  std::optional<std::int64_t> prompt_tokens = {};  // as the server counts
  std::optional<std::int64_t> new_tokens = {};
  // Per token of the answer, the likeliest first. Empty: the server gives none, or none to believe.
  std::vector<std::vector<TokenChance>> top = {};
  // The tokens of the answer, as long as the server tells which they are.
  std::vector<TokenChance> chosen = {};
  // With whole_prompt: top[i] is about tokens[i], what came before it being read; empty for the first.
  std::vector<std::vector<TokenChance>> prompt_top = {};
  double seconds = 0;

  [[nodiscard]] bool answered() const { return status >= 200 && status < 300; }
  // Some request might be answered, and this one is not: HTTP 400, 413, 422 and the like, and 5xx without 503.
  [[nodiscard]] bool refused() const;
};

// Asks options.urls.front() once. A server that asks for time (HTTP 429, 503) gets it: three
// times, as long as it wants, ten seconds at most. Errors: io (no answer in deadline_s, or still no time),
// invalid_argument (HTTP 401, 403, 404; options out of range), malformed (an answer that is none), cancelled.
Result<ServerReply> ask_server(const ServerOptions& options, const ServerQuestion& question,
                               const std::atomic<bool>* cancel = nullptr);

}  // namespace mrrope

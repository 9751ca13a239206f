// SPDX-License-Identifier: MIT
//
// Asks models that others serve: any number of OpenAI-compatible servers (vLLM, SGLang, llama-server, TGI) side by
// side.
//
//   ServerOptions options{.urls = {"http://node1:8000", "http://node2:8000"}, .model = "Qwen/Qwen3-8B"};
//   Result<void> ended = run_requests(options, samples.size(),
//       [&](std::size_t i) -> Result<ServerRequest> { return ServerRequest{.prompt = prompt_of(samples[i])}; },
//       [&](std::size_t i, const Result<ServerAnswer>& answer) { return record(i, answer); });
//
// Answers are greedy (temperature 0) and not streamed. One thread, the caller's, drives everything: make and done are
// never called at the same time, and need no locks. Memory: the requests in flight, and one answer.
//
// This is a room of its own, src/servers, built where libcurl is found (cmake/servers.cmake). It needs no
// llama.cpp. Certificates of https servers are checked against the system's; SSL_CERT_FILE, https_proxy, no_proxy and
// the like mean what they mean to the curl program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/result.h"

namespace mrrope {

// How a server is asked how likely each token of a prompt is.
enum class PromptScores {
  none,    // not at all: it answers
  vllm,    // /v1/completions with "prompt_logprobs"
  sglang,  // /generate with "return_logprob"
};

struct ServerOptions {
  std::vector<std::string> urls = {};  // "http://host:8000", "https://host/path/v1"; with or without the /v1
  std::string model = {};              // as the servers call it; empty: not said, which llama-server accepts
  // Sent as bearer token, and nowhere else. Where a server's words, in errors or answers, have eight characters of it
  // in a row, in upper or lower case (of a shorter key: all of it, as it is), "[key]" stands instead; an answer with
  // all of it is refused. Visible ASCII.
  std::string api_key = {};
  bool chat = false;                         // /v1/chat/completions, else /v1/completions
  PromptScores scores = PromptScores::none;  // else requests are tokens, and answers what they score
  int concurrency = 8;      // requests in flight per server, 1 … 4096; more make the server queue or batch
  double deadline_s = 600;  // of one attempt, from the name of the host to the last byte of the answer
  int attempts = 5;         // of one request, over all servers, 1 … 100
  double patience_s = 300;  // how long to wait for a first sign of life when every server has stopped answering
  // A server was put aside ("HTTP 500: out of memory"), or is back (empty): for people who wonder why it got slow.
  std::function<void(const std::string& url, const std::string& trouble)> on_health = nullptr;
};

struct ServerRequest {
  std::string prompt = {};  // UTF-8; as it is for completions, the user's message for chat
  // How the answer has to begin; not part of ServerAnswer::text. Completions: appended to the prompt. Chat: a last
  // message of the assistant with "continue_final_message": true and "add_generation_prompt": false, which vLLM and
  // SGLang ask for; llama-server continues such a message anyway. A server that knows neither begins a new turn or
  // refuses.
  std::string answer_prefix = {};
  int max_tokens = 128;
  std::vector<std::string> stop = {};
  // With ServerOptions::scores, in the place of all of the above: two or more.
  std::vector<std::int32_t> tokens = {};
  // They are as many as the server takes. Engines want room for a token behind a prompt: the last of these is asked for
  // as an answer, then, which takes a newer vLLM (0.32 has it).
  bool fills_context = false;
};

struct ServerAnswer {
  std::string text;                 // what came after prompt and answer_prefix
  std::string finish;               // "stop", "length", …; empty if the server does not say
  std::int64_t prompt_tokens = 0;   // as the server counts; 0 if it does not
  std::int64_t new_tokens = 0;      // likewise
  std::vector<double> scores = {};  // ln p of each of ServerRequest::tokens but the first, given those before; <= 0
  std::string server;               // that answered: one of ServerOptions::urls
  double seconds = 0;               // of the attempt that succeeded
  int attempts = 1;
};

// Asks requests 0 … n-1, in this order where nothing fails. make(i) is called when there is a place for it, so that the
// prompts of a million samples never stand in memory together; an Error of make(i) is the answer of i, except io (the
// server that counts tokens cannot be reached), after which it is called again, and cancelled. done(i, answer) is called
// once for every i, in the order in which answers arrive.
//
// An attempt that fails in a way that may pass (no connection, deadline, HTTP 408, 429 and 5xx, redirects, anything
// that is not the JSON it should be) is repeated, on another server if one is there, after pauses that double and are
// spread by chance. A server that fails three times in a row, or asks for time (429, 503, Retry-After up to a minute),
// is left alone for a while; one that failed is looked after with GET /v1/models and trusted again one request at a
// time. HTTP 400, 413, 422 and the like concern this request only: its answer is an Error with the server's words.
//
// Returns an Error, with requests unanswered, if
//   - a server answers 401, 403 or 404: key, URL or model are wrong, and stay so (invalid_argument);
//   - a server answers and scores no prompt (unsupported);
//   - no server has been reached at all, or none has answered for patience_s, or make has failed for as long (io);
//   - done returns one: that one;
//   - *cancel becomes true (cancelled): within a fraction of a second, connections are closed;
//   - options are out of range (invalid_argument).
Result<void> run_requests(const ServerOptions& options, std::size_t n,
                          const std::function<Result<ServerRequest>(std::size_t i)>& make,
                          const std::function<Result<void>(std::size_t i, const Result<ServerAnswer>&)>& done,
                          const std::atomic<bool>* cancel = nullptr);

// Of options.urls those that a key should not be sent to without a word: http, and another machine. Anyone on the way
// can read it.
std::vector<std::string> servers_without_encryption(const ServerOptions& options);

// How many tokens the servers' model makes of the text, without BOS and the like: POST /tokenize of llama-server, vLLM
// and SGLang. Asks the servers one after the other until one knows. ErrorCode::unsupported where there is no such
// thing, or one that finds no token in a text with words.
Result<std::int64_t> server_token_count(const ServerOptions& options, std::string_view text,
                                        const std::atomic<bool>* cancel = nullptr);

// The tokens that the servers' model makes of the text: POST /tokenize of vLLM and SGLang. `special`: with what its
// tokenizer puts around every text. ErrorCode::unsupported where there is no such thing.
Result<std::vector<std::int32_t>> server_tokens(const ServerOptions& options, std::string_view text, bool special,
                                                const std::atomic<bool>* cancel = nullptr);

}  // namespace mrrope

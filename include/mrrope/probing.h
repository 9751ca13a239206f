// SPDX-License-Identifier: MIT
//
// Asks a running server how long its requests may be, what it reads of them and whether it repeats itself. One request
// at a time, and never more than was stated before.
//
//   Result<ServerInfo> info = describe_server(options);
//   ProbePlan plan = plan_length(*info, budget);                      // "at most 9 requests, 1.2 million tokens"
//   Result<probe::Length> length = probe_length(options, *info, budget, prompts);
//   Result<probe::Health> health = probe_health(options, *info, *length, budget, prompts);
//
// What is read is found out without a clever model. A prompt is made of common words in random order, with the words
// "The code is" and another word here and there and at its end. If words in one stretch of it change places, the
// likeliest next tokens have other log probabilities, or that stretch was never read. Where a server gives no log
// probabilities its texts are compared, which can show that a stretch is read, and not that it is not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "mrrope/probe.h"
#include "mrrope/result.h"
#include "mrrope/server_info.h"
#include "mrrope/servers.h"

namespace mrrope {

struct ProbeBudget {
  std::int64_t max_tokens = 0;  // of one request; 0: an eighth more than advertised, at most 4M; 8192 where nothing is
  std::int64_t total_tokens = 0;  // of all prompts that are answered; 0: fifteen times that
  int requests = 40;
};

struct ProbePrompts {
  // A text as the model's tokens, with what stands at its beginning (BOS). Without it the server's /tokenize counts
  // or, where there is none, an estimate from what the server says of a short prompt.
  std::function<Result<std::vector<std::int32_t>>(std::string_view text)> tokens = nullptr;
  std::uint64_t seed = 1;  // of the words; another seed, other prompts, which no cache knows
};

// What a probe may take at most.
struct ProbePlan {
  std::int64_t longest = 0;  // tokens of one request
  int requests = 0;
  std::int64_t prompt_tokens = 0;  // of all requests that are answered; refused ones compute nothing
};
ProbePlan plan_length(const ServerInfo& info, const ProbeBudget& budget);

// A server that serves what it says takes a short request, one of the advertised length, one beyond it that is refused,
// and four more of the advertised length that share most of their beginning. Errors: the server answers nothing at all
// or stops answering (io, malformed), takes no key or model (invalid_argument), cannot be counted for (unsupported);
// cancelled.
Result<probe::Length> probe_length(const ServerOptions& options, const ServerInfo& info, const ProbeBudget& budget,
                                   const ProbePrompts& prompts, const std::atomic<bool>* cancel = nullptr);

// Five to seven requests of about 1000 tokens or, of a shorter server, three quarters of what it accepts; and one of
// all it accepts, where `length` shows that longer ones are refused. Errors as of probe_length.
ProbePlan plan_health(const probe::Length& length);
Result<probe::Health> probe_health(const ServerOptions& options, const ServerInfo& info, const probe::Length& length,
                                   const ProbePrompts& prompts, const std::atomic<bool>* cancel = nullptr);

}  // namespace mrrope

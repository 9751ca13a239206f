// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "mrrope/probing.h"
#include "served/probe_prompt.h"

namespace mrrope {

namespace {

using probe::Health;
using served::Asker;
using served::Prompt;

constexpr std::int64_t kShort = 1000;
constexpr int kTextTokens = 32;
constexpr int kRequests = 16;
constexpr int kTop = 5;
// Tokens of an answer that begins so far before the end of the length and goes on as far behind it.
constexpr int kBefore = 24, kBehind = 24;
constexpr std::int64_t kWidest = 1024;  // between what is accepted and what is refused, for the answer has to pass both

std::int64_t short_length(const probe::Length& length) {
  return std::min(kShort, length.accepted.value_or(kShort) * 3 / 4);
}

class HealthProbe {
 public:
  HealthProbe(const ServerInfo& info, const probe::Length& length, Asker asker)
      : info_(info), length_(length), asker_(std::move(asker)) {}

  Result<Health> run() {
    if (const Result<void> done = ask_twice(); !done) return done.error();
    if (const Result<void> done = ask_cached(); !done) return done.error();
    if (const Result<void> done = ask_beyond(); !done) return done.error();
    if (length_.sent > 0 && length_.seconds > 0 && asker_.gives_top) {
      health_.first_long = probe::FirstToken{length_.sent, length_.seconds};
    }
    health_.requests = asker_.ledger.asked();
    health_.prompt_tokens = asker_.ledger.spent();
    return health_;
  }

 private:
  Result<Prompt> short_prompt(std::uint64_t seed) {
    return asker_.prompt_of(std::max<std::int64_t>(8, short_length(length_) - asker_.frame - kTextTokens), seed);
  }

  Result<ServerReply> ask(const Prompt& prompt, ServerQuestion question) {
    question.top = kTop;
    return asker_.ask(prompt, std::move(question));
  }

  Result<void> ask_twice() {
    const Result<Prompt> fresh = short_prompt(101);
    if (!fresh) return fresh.error();
    const Result<ServerReply> first_token = ask(*fresh, {.max_tokens = 1});
    if (!first_token) return first_token.error();
    if (!first_token->answered()) return {};
    health_.first_short = probe::FirstToken{fresh->length, first_token->seconds};

    const Result<Prompt> prompt = short_prompt(102);
    if (!prompt) return prompt.error();
    // The cache is another question
    for (int i = 0; i < 2; ++i) {
      const Result<ServerReply> reply = asker_.ask_anew(*prompt, {.max_tokens = kTextTokens, .top = kTop});
      if (!reply) return reply.error();
      if (!reply->answered()) return {};
      if (i == 0) {
        cold_ = *reply;
      } else {
        health_.same_twice = reply->text == cold_->text;
        health_.twice_differs = served::difference(*cold_, *reply);
      }
    }
    prompt_ = *prompt;
    return {};
  }

  // The same prompt again, with its beginning remembered.
  Result<void> ask_cached() {
    if (!health_.same_twice || (info_.software != "llama.cpp" && info_.software != "vLLM")) return {};
    ServerQuestion question{.max_tokens = kTextTokens};
    if (info_.software == "llama.cpp") question.cache_prompt = true;
    std::optional<ServerReply> warm;
    for (int i = 0; i < 2; ++i) {  // the first one fills it
      Result<ServerReply> reply = ask(*prompt_, question);
      if (!reply) return reply.error();
      if (!reply->answered()) return {};
      warm = *std::move(reply);
    }
    health_.cached_differs = served::difference(*cold_, *warm);
    // A server that does not repeat itself tells nothing about its cache
    if (*health_.same_twice) health_.same_cached = warm->text == cold_->text;
    return {};
  }

  // Only of servers that refuse longer prompts: of others it is known that they cut.
  Result<void> ask_beyond() {
    if (!length_.accepted || !length_.refused || *length_.accepted < std::int64_t{4} * kBefore) return {};
    const std::int64_t between = *length_.refused - *length_.accepted;
    if (between > kWidest) return {};
    const int answer = kBefore + static_cast<int>(between) + kBehind;
    const Result<Prompt> prompt = asker_.prompt_of(*length_.accepted - asker_.frame - kBefore, 103);
    if (!prompt) return prompt.error();
    const Result<ServerReply> reply = ask(*prompt, {.max_tokens = answer, .past_end = true});
    if (!reply) return reply.error();
    if (!reply->answered()) {
      health_.context_shift = false;  // vLLM: prompt and answer have to fit
    } else if (reply->new_tokens) {
      health_.context_shift = prompt->length + asker_.frame + *reply->new_tokens > *length_.refused;
    }
    return {};
  }

  const ServerInfo& info_;
  const probe::Length& length_;
  Asker asker_;
  Health health_;
  std::optional<ServerReply> cold_;
  std::optional<Prompt> prompt_;
};

}  // namespace

ProbePlan plan_health(const probe::Length& length) {
  const std::int64_t longest = std::max(short_length(length), length.refused ? length.accepted.value_or(0) : 0);
  return {longest, kRequests, longest + 8 * kShort};
}

Result<probe::Health> probe_health(const ServerOptions& options, const ServerInfo& info, const probe::Length& length,
                                   const ProbePrompts& prompts, const std::atomic<bool>* cancel) {
  const ProbePlan plan = plan_health(length);
  Result<Asker> asker =
      Asker::create(options, info, prompts, served::Ledger(plan.requests, plan.prompt_tokens), cancel);
  if (!asker) return asker.error();
  return HealthProbe(info, length, *std::move(asker)).run();
}

}  // namespace mrrope

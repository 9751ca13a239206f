// SPDX-License-Identifier: MIT
#include "in_process/shared_prefix.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "in_process/log_softmax.h"
#include "in_process/passes.h"

namespace mrrope::eval {

namespace {

// llama.cpp attends with another kernel, of other roundings, if fewer queries than this are computed at once.
constexpr std::size_t kFewest = 64;

}  // namespace

std::vector<std::size_t> sharing_order(std::span<const std::vector<Token>> prompts) {
  std::vector<std::size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return prompts[a] < prompts[b]; });
  return order;
}

PrefixCache::PrefixCache(const LlamaModel& model, LlamaContext& context, bool share, std::vector<std::int64_t> rungs)
    : context_(context),
      ubatch_(context.ubatch_size()),
      share_(share && model.can_truncate()),
      rungs_(std::move(rungs)) {}

// Steps end at multiples of a ubatch whatever was cached before, so a token is computed by the same kernels with and
// without sharing, and answers are the same to the bit.
void PrefixCache::keep_common(std::span<const Token> tokens) {
  std::size_t common = 0;
  if (share_ && context_.n_cached() >= cached_.size()) {
    const auto differ = std::mismatch(cached_.begin(), cached_.end(), tokens.begin(), tokens.end());
    common = static_cast<std::size_t>(differ.first - cached_.begin());
    common = std::min(common, tokens.size() - 1);  // the last token is computed for its logits
    const std::size_t step_end = std::min((common / ubatch_ + 1) * ubatch_, tokens.size());
    const std::size_t step_begin = common / ubatch_ * ubatch_;
    if (step_end - common < kFewest) common = std::max(step_begin, step_end - std::min(kFewest, step_end));
  }
  const auto reached = static_cast<std::int64_t>(context_.n_cached());
  const auto next = static_cast<std::int64_t>(common) + 1;
  const bool turned =
      std::any_of(rungs_.begin(), rungs_.end(), [&](std::int64_t r) { return next <= r && r < reached; });
  if (turned) common = 0;
  cached_.resize(common);
  // A sliding window may have moved on: from the start, then
  if (common == 0 || !context_.truncate(common)) {
    cached_.clear();
    context_.clear();
  }
}

Result<std::size_t> PrefixCache::begin(std::span<const Token> tokens, const std::function<bool(std::int64_t)>& step) {
  assert(!tokens.empty());
  keep_common(tokens);
  std::size_t at = cached_.size();
  cached_.clear();  // until all went well
  computed_ += std::ssize(tokens) - static_cast<std::int64_t>(at);
  if (!step(static_cast<std::int64_t>(at))) return cancelled_error();
  for (std::size_t end = (at / ubatch_ + 1) * ubatch_; end < tokens.size(); end += ubatch_) {
    if (const auto ok = context_.decode(tokens.subspan(at, end - at), {.logits_from = end - at}); !ok)
      return ok.error();
    if (!step(static_cast<std::int64_t>(end - at))) return cancelled_error();
    at = end;
  }
  return at;
}

Result<void> PrefixCache::end(std::span<const Token> tokens, std::size_t at,
                              const std::function<bool(std::int64_t)>& step) {
  if (!step(std::ssize(tokens) - static_cast<std::int64_t>(at))) return cancelled_error();
  cached_.assign(tokens.begin(), tokens.end());
  return {};
}

Result<Reply> PrefixCache::answer(std::span<const Token> tokens, const GenerateOptions& options,
                                  const std::function<bool(std::int64_t)>& step) {
  const Result<std::size_t> at = begin(tokens, step);
  if (!at) return at.error();
  Result<std::vector<Token>> reply = context_.generate_greedy(tokens.subspan(*at), options);
  if (!reply) return reply.error();
  if (const auto ok = end(tokens, *at, step); !ok) return ok.error();
  return Reply{*reply, std::ssize(*reply) >= options.max_tokens};
}

Result<double> PrefixCache::nll(std::span<const Token> prompt, const Continuation& continuation) {
  assert(continuation.from > 0 && continuation.from <= prompt.size() && !continuation.tokens.empty());
  // With so many tokens before it that the kernel is that of long texts: the other one is a hundredth of a nat off
  const std::size_t kept = continuation.from - std::min(kFewest, continuation.from);
  cached_.resize(std::min(cached_.size(), kept));  // the rest may not be what the next prompt would have computed
  if (!context_.truncate(kept)) {
    context_.clear();
    for (std::size_t at = 0; at < kept; at += ubatch_) {
      const std::size_t count = std::min(ubatch_, kept - at);
      if (const auto ok = context_.decode(prompt.subspan(at, count), {.logits_from = count}); !ok) return ok.error();
    }
  }
  const std::span<const Token> before = prompt.subspan(kept, continuation.from - kept);
  std::vector<Token> tokens(before.begin(), before.end());
  tokens.insert(tokens.end(), continuation.tokens.begin(), continuation.tokens.end() - 1);
  const std::size_t first = before.size() - 1;  // the row that predicts the first token of the continuation
  double sum = 0;
  const Result<void> decoded =
      context_.decode(tokens, {.logits_from = first}, [&](std::size_t index, std::span<const float> row) {
        sum += token_nll(row, static_cast<std::size_t>(continuation.tokens[index - first]));
      });
  if (!decoded) return decoded.error();
  return sum;
}

Result<std::vector<float>> PrefixCache::logits(std::span<const Token> tokens,
                                               const std::function<bool(std::int64_t)>& step) {
  const Result<std::size_t> at = begin(tokens, step);
  if (!at) return at.error();
  std::vector<float> out;
  const Result<void> decoded = context_.decode(
      tokens.subspan(*at), {}, [&](std::size_t, std::span<const float> row) { out.assign(row.begin(), row.end()); });
  if (!decoded) return decoded.error();
  if (const auto ok = end(tokens, *at, step); !ok) return ok.error();
  return out;
}

}  // namespace mrrope::eval

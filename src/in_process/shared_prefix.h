// SPDX-License-Identifier: MIT
//
// Prompts that begin alike are computed once as far as they agree.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "in_process/encoder.h"
#include "mrrope/runtime.h"

namespace mrrope::eval {

// The order in which prompts share most: that of a dictionary. A walk through it is a walk through the tree of their
// prefixes, in which each branch is entered once, so one cache that is cut back computes every token of the tree once.
std::vector<std::size_t> sharing_order(std::span<const std::vector<Token>> prompts);

struct Reply {
  std::vector<Token> tokens;
  bool cut = false;  // by the budget, not by the model
};

// Answers prompts from a cache that keeps the prompt before. Of one context with one plan: cached keys are already
// rotated.
class PrefixCache {
 public:
  // `share`: false computes every prompt from its start, for comparison. `rungs`: the lengths of a ladder that texts
  // climb. A prefix on a lower rung than the text before is computed again: turning it back would round it twice more,
  // each time.
  PrefixCache(const LlamaModel& model, LlamaContext& context, bool share, std::vector<std::int64_t> rungs = {});

  // Greedy. `step` hears how many prompt tokens were just done, and ends the call with ErrorCode::cancelled if it says
  // false. Domain: tokens is not empty.
  Result<Reply> answer(std::span<const Token> tokens, const GenerateOptions& options,
                       const std::function<bool(std::int64_t)>& step);

  // The logits after the prompt, in the place of an answer.
  Result<std::vector<float>> logits(std::span<const Token> tokens, const std::function<bool(std::int64_t)>& step);

  // -ln p of a continuation of the prompt that was last answered. Its beginning is computed again where the model
  // cannot go back. Domain: 0 < continuation.from <= prompt.size(), continuation.tokens is not empty.
  Result<double> nll(std::span<const Token> prompt, const Continuation& continuation);

  [[nodiscard]] std::int64_t computed() const noexcept { return computed_; }  // prompt tokens so far

 private:
  void keep_common(std::span<const Token> tokens);
  // All but the last step, whose first token it returns; and, when that was computed too, what is to be remembered.
  Result<std::size_t> begin(std::span<const Token> tokens, const std::function<bool(std::int64_t)>& step);
  Result<void> end(std::span<const Token> tokens, std::size_t at, const std::function<bool(std::int64_t)>& step);

  LlamaContext& context_;
  std::size_t ubatch_;
  bool share_;
  std::vector<std::int64_t> rungs_;
  std::vector<Token> cached_;
  std::int64_t computed_ = 0;
};

}  // namespace mrrope::eval

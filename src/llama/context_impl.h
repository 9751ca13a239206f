// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "llama/climb.h"
#include "llama/model_impl.h"
#include "llama/rotations.h"

namespace mrrope {

// The members of a llama_batch of one sequence, as vectors of one length.
struct LlamaBatch {
  void resize(std::size_t n) {
    token.resize(n);
    position.resize(n);
    logits.resize(n);
  }

  // Of the first n. Without sequence numbers, all is sequence 0.
  llama_batch view(std::size_t n) {
    return {static_cast<std::int32_t>(n), token.data(), nullptr, position.data(), nullptr, nullptr, logits.data()};
  }

  std::vector<llama_token> token;
  std::vector<llama_pos> position;
  std::vector<std::int8_t> logits;
};

struct LlamaContext::Impl {
  Impl(std::shared_ptr<const LlamaModel::Impl> model_, ContextOptions given_)
      : model(std::move(model_)), given(std::move(given_)) {}

  std::shared_ptr<const LlamaModel::Impl> model;  // outlives `context`
  ContextOptions given;
  std::atomic<bool> cancel = false;
  llama::Rotations rotations{cancel};        // outlives `context`
  LlamaBatch batch;                          // as long as a ubatch
  std::vector<llama::TableRung> rungs{1};    // one: a plan, or the file; never empty
  std::size_t rung = 0;                      // that cached keys are rotated by
  std::vector<std::int32_t> positions;       // of the cached tokens, as the rotation saw them
  std::int32_t farthest = -1;                // of them
  std::vector<nodes::NodeRotation> of_file;  // what the model does without a plan; empty: not looked at yet
  llama_context_ptr context;

  [[nodiscard]] llama_memory_t memory() const { return llama_get_memory(context.get()); }
  [[nodiscard]] std::size_t ubatch() const { return batch.token.size(); }

  // Under other rungs.
  void start_over(std::vector<llama::TableRung> others);
  void clear();
  Result<void> truncate(std::size_t n);
  // Removes what llama.cpp has of token n and later, also what is in no `positions`. Domain: n > 0.
  Result<void> drop_from(std::size_t n);
  // After a failure: the first n tokens or, where the cache cannot go back, none.
  void roll_back(std::size_t n);

  // Why the model cannot climb; empty: it can. Domain: look_at_file() went well.
  [[nodiscard]] std::string why_no_climb() const;
  // How many of the next tokens have the rung of the first of them.
  [[nodiscard]] std::size_t on_one_rung(std::span<const std::int32_t> at) const;

  [[nodiscard]] Result<void> check(std::span<const Token> tokens, const DecodeOptions& options) const;
  Result<void> decode(std::span<const Token> tokens, const DecodeOptions& options, const LogitsSink& sink);
  // Domain: 1 … ubatch() tokens of one rung, as many positions. Rows of logits from `logits_from` on. Climbs first, or
  // goes down; if that fails, the cache is empty.
  Result<void> decode_chunk(std::span<const Token> tokens, std::span<const std::int32_t> at, std::size_t logits_from);

  // What the model itself does, found out by one token if need be. Empties the cache.
  Result<void> look_at_file();
};

}  // namespace mrrope

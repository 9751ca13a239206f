// SPDX-License-Identifier: MIT
//
// Tokens in, rows of logits out: one ubatch at a time, so that there is one graph per call of llama_decode and never
// more than a ubatch of logits in memory.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "llama/context_impl.h"
#include "llama/log.h"

namespace mrrope {

namespace {

using llama::LogScope;

Error cancelled() { return {ErrorCode::cancelled, "cancelled", ""}; }

// The first of the largest; nullopt if they are not numbers.
std::optional<Token> most_likely(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (best == logits.end() || std::isnan(*best)) return std::nullopt;
  return static_cast<Token>(best - logits.begin());
}

}  // namespace

Result<void> LlamaContext::Impl::check(std::span<const Token> tokens, const DecodeOptions& options) const {
  const int n_vocab = llama_vocab_n_tokens(model->vocab());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= n_vocab) {
      return Error{ErrorCode::invalid_argument, fmt::format("expected a token below {}, found {}", n_vocab, tokens[i]),
                   fmt::format("tokens[{}]", i)};
    }
  }
  const std::size_t room = llama_n_ctx_seq(context.get()) - positions.size();
  if (tokens.size() > room) {
    return Error{ErrorCode::too_long,
                 fmt::format("{} tokens do not fit: {} of {} are cached", tokens.size(), positions.size(),
                             positions.size() + room),
                 "", "ctx_size"};
  }
  if (!options.positions.empty() && options.positions.size() != tokens.size()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected {} positions, found {}", tokens.size(), options.positions.size()), "positions"};
  }
  for (std::size_t i = 0; i < options.positions.size(); ++i) {
    if (options.positions[i] < 0 || options.positions[i] > kMaxPosition) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("expected 0 to {}, found {}", kMaxPosition, options.positions[i]),
                   fmt::format("positions[{}]", i)};
    }
  }
  const std::int64_t next = positions.empty() ? 0 : positions.back() + std::int64_t{1};
  if (options.positions.empty() && next + std::ssize(tokens) - 1 > kMaxPosition) {
    return Error{ErrorCode::invalid_argument, fmt::format("positions would go beyond {}", kMaxPosition), "tokens"};
  }
  return {};
}

Result<void> LlamaContext::Impl::decode_chunk(std::span<const Token> tokens, std::span<const std::int32_t> at,
                                              std::size_t logits_from) {
  assert(!tokens.empty() && tokens.size() <= ubatch() && at.size() == tokens.size());
  if (cancel.exchange(false)) return cancelled();
  const std::size_t first = positions.size();
  bool as_sequence = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    batch.token[i] = tokens[i];
    batch.position[i] = static_cast<llama_pos>(first + i);
    batch.logits[i] = i >= logits_from ? 1 : 0;
    as_sequence = as_sequence && at[i] == batch.position[i];
  }

  const std::int32_t reach = std::max(farthest, *std::max_element(at.begin(), at.end()));
  const std::size_t next = llama::rung_that_holds(rungs, std::int64_t{reach} + 1);
  llama::Injection turn;
  bool turning = false;
  const LogScope log;
  if (next != rung) {
    if (!positions.empty()) turn = llama::turn_between(rungs[rung].tables, rungs[next].tables, of_file);
    turning = !turn.tables.empty();
    if (turning) {
      // There and back: positions stay as they are, and llama.cpp shifts the cache at the start of llama_decode
      llama_memory_seq_add(memory(), 0, 0, -1, 1);
      llama_memory_seq_add(memory(), 0, 0, -1, -1);
    }
    rung = next;
    rotations.inject(&rungs[rung].tables);
    rotations.forget();
  }
  rotations.begin(at, !as_sequence, turning ? &turn : nullptr);
  const int status = llama_decode(context.get(), batch.view(tokens.size()));
  if (status == 0) llama_synchronize(context.get());
  const Result<void> rotated = rotations.end();
  const auto failed = [&](Error error) {
    if (turning) clear();  // some keys may have been turned, others not
    return error;
  };
  if (status == 2 || rotations.stopped()) {
    cancel = false;
    return failed(cancelled());
  }
  if (!rotated) return failed(rotated.error());
  if (status != 0) {
    return failed({ErrorCode::io, fmt::format("llama.cpp cannot decode (status {}){}", status, log.tail()), ""});
  }
  positions.insert(positions.end(), at.begin(), at.end());
  farthest = reach;
  return {};
}

Result<void> LlamaContext::Impl::decode(std::span<const Token> tokens, const DecodeOptions& options,
                                        const LogitsSink& sink) {
  if (const auto ok = check(tokens, options); !ok) return ok.error();
  struct Undo {  // also where the sink throws
    Impl& impl;
    std::size_t before = impl.positions.size();
    bool armed = true;
    ~Undo() {
      if (armed) impl.roll_back(std::min(before, impl.positions.size()));
    }
  } undo{*this};
  const auto n_vocab = static_cast<std::size_t>(llama_vocab_n_tokens(model->vocab()));
  std::size_t logits_from = options.logits_from;
  if (logits_from == DecodeOptions::kLast) logits_from = tokens.empty() ? 0 : tokens.size() - 1;
  if (!sink) logits_from = tokens.size();

  std::vector<std::int32_t> at;
  for (std::size_t done = 0; done < tokens.size(); done += at.size()) {
    at.resize(std::min(ubatch(), tokens.size() - done));
    if (options.positions.empty()) {
      std::iota(at.begin(), at.end(), positions.empty() ? 0 : positions.back() + 1);
    } else {
      std::copy_n(options.positions.begin() + static_cast<std::ptrdiff_t>(done), at.size(), at.begin());
    }
    if (rungs.size() > 1) at.resize(on_one_rung(at));
    const std::size_t from = std::clamp(logits_from, done, done + at.size()) - done;
    if (const auto ok = decode_chunk(tokens.subspan(done, at.size()), at, from); !ok) return ok.error();
    for (std::size_t i = from; i < at.size(); ++i) {
      const float* row = llama_get_logits_ith(context.get(), static_cast<std::int32_t>(i));
      if (row == nullptr) return Error{ErrorCode::unsupported, "the model has no logits", ""};
      sink(done + i, {row, n_vocab});
    }
  }
  undo.armed = false;
  return {};
}

Result<void> LlamaContext::decode(std::span<const Token> tokens, const DecodeOptions& options, const LogitsSink& sink) {
  return impl_->decode(tokens, options, sink);
}

Result<std::vector<Token>> LlamaContext::generate_greedy(std::span<const Token> prompt,
                                                         const GenerateOptions& options) {
  if (prompt.empty()) return Error{ErrorCode::invalid_argument, "expected at least one token", "prompt"};
  const std::size_t before = n_cached();
  const llama_vocab* vocab = impl_->model->vocab();
  std::vector<Token> result;
  std::optional<Token> next;
  const LogitsSink keep_best = [&](std::size_t, std::span<const float> logits) { next = most_likely(logits); };

  std::span<const Token> input = prompt;
  while (std::ssize(result) < options.max_tokens) {
    if (const auto ok = impl_->decode(input, {}, keep_best); !ok) {
      if (n_cached() > before) impl_->roll_back(before);
      return ok.error();
    }
    if (!next) return Error{ErrorCode::inconsistent, "the model's logits are not numbers", ""};
    const bool stop = std::find(options.stop.begin(), options.stop.end(), *next) != options.stop.end();
    if (stop || llama_vocab_is_eog(vocab, *next)) break;
    result.push_back(*next);
    if (options.on_token && !options.on_token(*next)) break;
    input = {&result.back(), 1};
  }
  return result;
}

}  // namespace mrrope

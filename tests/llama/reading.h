// SPDX-License-Identifier: MIT
//
// A text read by llama.cpp from any position on: what attention.cpp and shifted.cpp share.
#pragma once

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace reading {

inline double minus_ln_p(const float* logits, int n_vocab, llama_token next) {
  const double most = *std::max_element(logits, logits + n_vocab);
  double sum = 0;
  for (int i = 0; i < n_vocab; ++i) sum += std::exp(logits[i] - most);
  return most + std::log(sum) - logits[next];
}

// With the token that the model's file wants before a text.
inline std::vector<llama_token> tokens_of(const llama_model* model, const std::string& text) {
  std::vector<llama_token> tokens(text.size() + 2);
  const int found = llama_tokenize(llama_model_get_vocab(model), text.data(), static_cast<int>(text.size()),
                                   tokens.data(), static_cast<int>(tokens.size()), true, false);
  tokens.resize(static_cast<std::size_t>(std::max(found, 0)));
  return tokens;
}

// Reads the tokens at positions first, first + 1, … into an empty cache. Logits are kept of token `logits_from` and
// of those after it, for llama_get_logits_ith.
inline bool read_at(llama_context* context, const std::vector<llama_token>& tokens, llama_pos first, int logits_from) {
  llama_memory_clear(llama_get_memory(context), true);
  const auto count = static_cast<int>(tokens.size());
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; ++i) {
    batch.token[i] = tokens[static_cast<std::size_t>(i)];
    batch.pos[i] = first + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = i >= logits_from;
  }
  const bool done = llama_decode(context, batch) == 0;
  llama_batch_free(batch);
  return done;
}

}  // namespace reading

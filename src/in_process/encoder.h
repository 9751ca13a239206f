// SPDX-License-Identifier: MIT
//
// Turns samples into the tokens of one model and chat template.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mrrope/benchmarks.h"

namespace mrrope::eval {

// The first `from` tokens of a prompt, and what comes then.
struct Continuation {
  std::size_t from = 0;
  std::vector<Token> tokens;
};

class Encoder {
 public:
  static Result<Encoder> create(const LlamaModel& model, const PromptFrame& frame);

  // What template and BOS cost, at most.
  [[nodiscard]] std::int64_t frame_tokens() const;

  // `answer_prefix` in the place of the sample's own. Texts are tokenised without special tokens: a corpus may contain
  // "<|im_end|>". Errors: the sample exceeds its budget, or a needle is not where it should be; what a wrong
  // tokenisation would spoil in silence.
  [[nodiscard]] Result<std::vector<Token>> encode(const Sample& sample, const std::string& answer_prefix) const;

  // The sample's own prompt with an answer after it. `prompt`: what encode() made of it. A tokenizer may join the seam.
  [[nodiscard]] Result<Continuation> continued(const Sample& sample, std::span<const Token> prompt,
                                               const std::string& answer) const;

 private:
  Encoder(const LlamaModel& model, std::vector<Token> before, std::vector<Token> after)
      : model_(&model), before_(std::move(before)), after_(std::move(after)) {}
  [[nodiscard]] Result<std::vector<Token>> tokens_of(const Sample& sample, const std::string& beginning) const;
  [[nodiscard]] Result<void> check(const Sample& sample, std::span<const Token> tokens) const;

  const LlamaModel* model_;
  std::vector<Token> before_, after_;
};

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include "in_process/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace mrrope::eval {

TokenCount token_counter(const LlamaModel& model) {
  return [&model](std::string_view text) -> Result<std::int64_t> {
    const Result<std::vector<Token>> tokens = model.tokenize(text, {.add_special = false});
    if (!tokens) return tokens.error();
    return std::ssize(*tokens);
  };
}

namespace {

std::string without_space(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

}  // namespace

Result<Encoder> Encoder::create(const LlamaModel& model, const PromptFrame& frame) {
  Result<std::vector<Token>> before = model.tokenize(frame.before, {.add_special = true, .parse_special = true});
  if (!before) return before.error();
  // A template that writes BOS itself, on a model that adds one
  if (before->size() >= 2 && model.bos() && (*before)[0] == *model.bos() && (*before)[1] == *model.bos()) {
    before->erase(before->begin());
  }
  Result<std::vector<Token>> after = model.tokenize(frame.after, {.add_special = false, .parse_special = true});
  if (!after) return after.error();
  return Encoder(model, *std::move(before), *std::move(after));
}

std::int64_t Encoder::frame_tokens() const {
  // Where a template stands between the prompt and the beginning of the answer, they are tokenised apart
  const std::int64_t seam = after_.empty() ? 0 : 2;
  return std::ssize(before_) + std::ssize(after_) + seam;
}

// `beginning`: of the assistant's turn.
Result<std::vector<Token>> Encoder::tokens_of(const Sample& sample, const std::string& beginning) const {
  std::vector<Token> out = before_;
  const auto add = [&](const std::string& text) -> Result<void> {
    if (text.empty()) return {};
    const Result<std::vector<Token>> tokens = model_->tokenize(text, {.add_special = false});
    if (!tokens) return tokens.error();
    out.insert(out.end(), tokens->begin(), tokens->end());
    return {};
  };
  if (const auto ok = add(after_.empty() ? sample.prompt + beginning : sample.prompt); !ok) return ok.error();
  if (!after_.empty()) {
    out.insert(out.end(), after_.begin(), after_.end());
    if (const auto ok = add(beginning); !ok) return ok.error();
  }
  return out;
}

Result<std::vector<Token>> Encoder::encode(const Sample& sample, const std::string& answer_prefix) const {
  Result<std::vector<Token>> tokens = tokens_of(sample, answer_prefix);
  if (!tokens) return tokens;
  if (const auto ok = check(sample, *tokens); !ok) return ok.error();
  return tokens;
}

Result<Continuation> Encoder::continued(const Sample& sample, std::span<const Token> prompt,
                                        const std::string& answer) const {
  // A turn that begins with the answer begins with no space
  const bool bare = sample.answer_prefix.empty() && answer.starts_with(' ');
  const Result<std::vector<Token>> all = tokens_of(sample, sample.answer_prefix + answer.substr(bare ? 1 : 0));
  if (!all) return all.error();
  const auto differ = std::mismatch(all->begin(), all->end(), prompt.begin(), prompt.end());
  return Continuation{.from = static_cast<std::size_t>(differ.first - all->begin()),
                      .tokens = {differ.first, all->end()}};
}

Result<void> Encoder::check(const Sample& sample, std::span<const Token> tokens) const {
  const TokenCount count_tokens = token_counter(*model_);
  constexpr std::int64_t kSlack = 8;  // tokens of a beginning of the text are not always the first tokens of the text
  if (std::ssize(tokens) + sample.max_new_tokens > sample.request.length) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("{} tokens of prompt and {} of answer exceed {}", tokens.size(), sample.max_new_tokens,
                             sample.request.length),
                 sample.task};
  }
  for (const Needle& needle : sample.needles) {
    const std::string text = sample.prompt.substr(needle.begin, needle.end - needle.begin);
    const std::int64_t first = std::ssize(before_) + needle.token;
    const Result<std::int64_t> count = count_tokens(text);
    if (!count) return count.error();
    const std::int64_t from = std::clamp<std::int64_t>(first - kSlack, 0, std::ssize(tokens));
    const std::int64_t to = std::clamp<std::int64_t>(first + *count + kSlack, from, std::ssize(tokens));
    const Result<std::string> found =
        model_->detokenize(tokens.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
    if (!found) return found.error();
    if (without_space(*found).find(without_space(text)) == std::string::npos) {
      return Error{ErrorCode::inconsistent, fmt::format("the needle \"{}\" is not at token {}", text, first),
                   sample.task};
    }
  }
  return {};
}

}  // namespace mrrope::eval

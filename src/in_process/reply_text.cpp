// SPDX-License-Identifier: MIT
#include "in_process/reply_text.h"

#include <algorithm>
#include <vector>

namespace mrrope::eval {

Result<std::string> text_after(const LlamaModel& model, Token before, std::span<const Token> reply) {
  std::vector<Token> all = {before};
  all.insert(all.end(), reply.begin(), reply.end());
  const Result<std::string> shown = model.detokenize({&before, 1});
  if (!shown) return shown.error();
  Result<std::string> text = model.detokenize(all);
  if (text && text->starts_with(*shown)) text->erase(0, shown->size());
  return text;
}

std::optional<Token> token_after_bracket(const LlamaModel& model, const std::string& text) {
  const auto tokens = [&](const std::string& t) { return model.tokenize(t, {.add_special = false}); };
  const Result<std::vector<Token>> before = tokens("is (");
  const Result<std::vector<Token>> with = tokens("is (" + text);
  if (before && with && with->size() == before->size() + 1 &&
      std::equal(before->begin(), before->end(), with->begin())) {
    return with->back();
  }
  const Result<std::vector<Token>> alone = tokens(text);
  if (alone && alone->size() == 1) return alone->front();
  return std::nullopt;
}

}  // namespace mrrope::eval

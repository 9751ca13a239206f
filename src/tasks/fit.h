// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "tasks/draft.h"

namespace mrrope::eval::drafts {

struct Fitted {
  Draft draft;
  Size size;
  std::int64_t tokens = 0;  // of prompt and prefix
  int max_new_tokens = 0;
};

// The first form that has room, grown until one more unit would not fit: `tokens` + `max_new_tokens` <= `length`.
// `max_new_tokens` is the task's, or what a perfect answer takes and one more where that is greater (tokenizers of
// bytes).
Result<Fitted> fit(std::span<const Form> forms, std::int64_t length, int max_new_tokens, const TokenCount& count);

}  // namespace mrrope::eval::drafts

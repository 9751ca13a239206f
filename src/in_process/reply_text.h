// SPDX-License-Identifier: MIT
//
// Between tokens and text where an answer goes on after its prompt: a text by itself is something else in vocabularies
// of SentencePiece, which put a space before every text and do not show it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "mrrope/runtime.h"

namespace mrrope::eval {

// What a reply adds to the text, its first space included. `before`: the last token of the prompt.
Result<std::string> text_after(const LlamaModel& model, Token before, std::span<const Token> reply);

// The token of a text that goes on after "(", or the text's own where the two melt into one token; none: it has no
// token of its own.
std::optional<Token> token_after_bracket(const LlamaModel& model, const std::string& text);

}  // namespace mrrope::eval

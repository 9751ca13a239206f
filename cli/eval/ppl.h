// SPDX-License-Identifier: MIT
//
// mrrope eval ppl: in process, or on servers that say how likely the tokens of a prompt are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/eval/eval.h"
#include "cli/eval/server_flags.h"
#include "mrrope/served.h"

namespace mrrope::cli {

struct PplCommand {
  EvalOptions eval;
  ServerFlags servers;
  std::string lengths;
  std::string kl;
  std::string protocol = "prefix";
};

// Its two ways; a program without llama.cpp, or without libcurl, says so instead (without_*.cpp).
int run_ppl_in_process(const PplCommand& command, const std::vector<std::int64_t>& lengths,
                       const std::vector<std::string>& words);
int run_ppl_on_servers(const PplCommand& command, const std::vector<std::int64_t>& lengths,
                       const std::vector<std::string>& words);

// The texts in tokens of the vocabulary of -m, and `sample` too, for those who wonder whether it is the servers'.
struct VocabularyTexts {
  std::vector<eval::ServedText> texts;
  std::vector<std::int32_t> sample;
};
Result<VocabularyTexts> vocabulary_texts(const EvalOptions& eval, std::int64_t tokens, const std::string& sample);

// Which texts end before the longest of the lengths, if any do.
struct TextLength {
  std::string name;
  std::int64_t tokens = 0;
};
void say_shorter(const std::vector<TextLength>& texts, std::int64_t longest);

}  // namespace mrrope::cli

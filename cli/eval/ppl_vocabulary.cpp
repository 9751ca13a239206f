// SPDX-License-Identifier: MIT
//
// Texts for servers, in tokens of a .gguf's vocabulary. Only where llama.cpp is.
#include <utility>

#include "cli/eval/ppl.h"
#include "mrrope/perplexity.h"

namespace mrrope::cli {

Result<VocabularyTexts> vocabulary_texts(const EvalOptions& eval, std::int64_t tokens, const std::string& sample) {
  LlamaModelOptions load = eval.load;
  load.vocab_only = true;
  const Result<LlamaModel> model = LlamaModel::load(eval.model, load);
  if (!model) return model.error();
  Result<std::vector<eval::Document>> documents = eval::load_documents(*model, eval.texts, tokens);
  if (!documents) return documents.error();
  Result<std::vector<Token>> known = model->tokenize(sample, {.add_special = false, .parse_special = false});
  if (!known) return known.error();
  VocabularyTexts out{{}, *std::move(known)};
  for (eval::Document& document : *documents) {
    out.texts.push_back({std::move(document.name), std::move(document.hash), std::move(document.tokens)});
  }
  return out;
}

}  // namespace mrrope::cli

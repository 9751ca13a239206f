// SPDX-License-Identifier: MIT
//
// The part of mrrope probe that runs the server's weights here.
#include <fmt/format.h>

#include <map>
#include <span>
#include <utility>

#include "cli/eval/probe.h"
#include "cli/terminal.h"
#include "mrrope/fingerprinting.h"

namespace mrrope::cli {

namespace {

// Tokens by their texts, for servers that name them so. Made when the first one asks.
class TokenNames {
 public:
  explicit TokenNames(Weights weights) : weights_(std::move(weights)) {}

  std::optional<Token> find(std::string_view text) {
    if (names_.empty()) read();
    const auto found = names_.find(text);
    return found == names_.end() ? std::nullopt : found->second;
  }

 private:
  // Some vocabularies leave out the space before the first word of a text: every token is written after another one.
  void read() {
    const Result<std::vector<Token>> anchor = weights_->tokenize("a", {.add_special = false});
    std::vector<Token> pair = anchor && !anchor->empty() ? *anchor : std::vector<Token>();
    const Result<std::string> alone = weights_->detokenize(pair);
    const std::size_t before = alone ? alone->size() : 0;
    pair.push_back(0);
    for (Token token = 0; token < weights_->n_vocab(); ++token) {
      pair.back() = token;
      const Result<std::string> text = weights_->detokenize(pair);
      if (!text || text->size() <= before) continue;
      const auto [place, is_new] = names_.try_emplace(text->substr(before), token);
      if (!is_new) place->second.reset();  // a name of two
    }
  }

  Weights weights_;
  std::map<std::string, std::optional<Token>, std::less<>> names_;
};

}  // namespace

Result<Weights> load_weights(const std::string& path, const LlamaModelOptions& options) {
  Result<LlamaModel> model = LlamaModel::load(path, options);
  if (!model) return model.error();
  return std::make_shared<const LlamaModel>(*std::move(model));
}

Vocabulary vocabulary_of(const Weights& weights) {
  const auto names = std::make_shared<TokenNames>(weights);
  return {.tokens = [weights](std::string_view text) { return weights->tokenize(text); },
          .text = [weights](std::span<const std::int32_t> tokens) { return weights->detokenize(tokens); },
          .named = [names](std::string_view text) { return names->find(text); },
          .size = weights->n_vocab()};
}

Result<ProbedTable> probe_table(const ServerOptions& server, const ServerInfo& info, const Weights& weights,
                                const ContextOptions& context, const TableQuestion& question,
                                const std::atomic<bool>* cancel) {
  show_progress("table: asks for log probabilities");
  Result<Statements> said = collect_statements(server, info, vocabulary_of(weights), question.statements, cancel);
  if (!said) return said.error();
  const auto progress = [](std::size_t run, std::size_t alive) {
    show_progress(fmt::format("table: {} run here, {} left", run, alive));
  };
  Result<eval::NamedTable> named =
      eval::name_table(*weights, context, question.suspects, said->statements, progress, cancel);
  if (!named) return named.error();
  return ProbedTable{.verdict = std::move(named->verdict),
                     .cache_type = std::move(named->cache_type),
                     .longest = question.statements.longest,
                     .said = *std::move(said)};
}

}  // namespace mrrope::cli

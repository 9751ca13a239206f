// SPDX-License-Identifier: MIT
//
// Perplexity on servers.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/paths.h"
#include "cli/commands.h"
#include "cli/eval/endpoint.h"
#include "cli/eval/ppl.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

// What most tokenizers cut in different places.
constexpr const char* kSample = "On 17 May the twenty-third chapter's reader, Zoë, wrote: \"x = 4.25\".\n\n\tNaïve?";

struct Texts {
  std::vector<eval::ServedText> texts;
  std::string by;  // for the record
};

// By the vocabulary of -m, which has to be the servers', or by theirs.
Result<Texts> texts_of(const EvalOptions& eval, const ServerOptions& servers, std::int64_t longest) {
  if (eval.model.empty()) {
    Result<std::vector<eval::ServedText>> texts =
        eval::texts_on_servers(servers, eval.texts, longest, cancel_on_signals());
    if (!texts) return texts.error();
    return Texts{*std::move(texts), "/tokenize"};
  }
  Result<VocabularyTexts> read = vocabulary_texts(eval, longest, kSample);
  if (!read) return read.error();
  const Result<std::vector<std::int32_t>> theirs = server_tokens(servers, kSample, false, cancel_on_signals());
  if (!theirs && theirs.error().code != ErrorCode::unsupported) return theirs.error();
  if (theirs && *theirs != read->sample) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("its vocabulary is not that of the servers: {} tokens for a sentence that has {} there",
                             read->sample.size(), theirs->size()),
                 eval.model};
  }
  return Texts{std::move(read->texts), base::to_text(base::to_path(eval.model).filename())};
}

}  // namespace

int run_ppl_on_servers(const PplCommand& command, const std::vector<std::int64_t>& lengths,
                       const std::vector<std::string>& words) {
  const EvalOptions& eval = command.eval;
  const Result<ServerOptions> servers = servers_of(command.servers);
  if (!servers) return fail(servers.error());
  const Result<eval::ScoringServers> scoring = eval::scoring_servers(*servers, cancel_on_signals());
  if (!scoring) return ended(scoring.error(), eval);
  const Result<Texts> texts = texts_of(eval, *servers, lengths.back());
  if (!texts) return ended(texts.error(), eval);
  std::vector<TextLength> read;
  for (const eval::ServedText& text : texts->texts) read.push_back({text.name, std::ssize(text.tokens)});
  say_shorter(read, lengths.back());

  eval::RunInfo info{.task = "ppl",
                     .model = command.servers.model,
                     .model_hash = eval::content_hash("served"),  // plans are served under names of their own
                     .architecture = "",
                     .engine = scoring->servers.scores == PromptScores::sglang ? "/generate" : "/v1/completions",
                     .served = true};
  info.settings = {{"endpoint", info.engine}, {"tokens", texts->by}, {"protocol", "prefix"}};
  info.command = words;
  Result<OpenRun> run = open_run(eval, std::move(info));
  if (!run) return fail(run.error());
  const Result<eval::ServedCost> cost = measure_served_ppl(*scoring, command.servers.method(), texts->texts, lengths,
                                                           run->folder, make_control(run->folder));
  if (!cost) return ended(cost.error(), eval);
  eval::RunInfo shown = run->folder.info();
  shown.model = command.servers.model;
  // Where every request failed there is nothing to show, and the reason is not the lengths
  const bool nothing = cost->failed > 0 && cost->failed == std::ssize(cost->asked);
  const eval::Candidate row{command.servers.method(), 1, std::nullopt};
  const int status = nothing ? 1 : print_results(eval, shown, run->folder.records(), {&row, 1}, lengths);
  if (cost->failed == 0) return status;
  return fail({ErrorCode::io,
               fmt::format("{} texts have no answer; the same command asks again. The first: {}", cost->failed,
                           to_string(*cost->first_failure)),
               ""});
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// Benchmarks on a model in this process.
#include <utility>

#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/eval/cache_types.h"
#include "cli/eval/session.h"
#include "cli/terminal.h"
#include "mrrope/benchmarks.h"

namespace mrrope::cli {

Result<LlamaContext> ready_context(const BenchmarkCommand& command, ContextOptions context, const LlamaModel& model,
                                   eval::BenchmarkOptions& options) {
  Result<eval::PromptFrame> frame = eval::make_frame(model, command.chat_template);
  if (!frame) return frame.error();
  if (command.chat_template == "auto" && frame->name == "none" && !model.chat_template().empty()) {
    note(
        "llama.cpp does not know this file's chat template: prompts are sent as plain text. --chat-template chatml,\n"
        "or another name that llama.cpp knows, sends them as a conversation\n");
  }
  options.frame = *std::move(frame);
  context.ctx_size = options.lengths.back();
  return LlamaContext::create(model, context);
}

int run_in_process(EvalOptions eval, const BenchmarkCommand& command, const eval::TaskTexts& texts,
                   eval::BenchmarkOptions options, const std::vector<std::string>& words) {
  if (const auto ok = take_cache_types(eval); !ok) return fail(ok.error());
  const Result<std::vector<eval::Candidate>> candidates = candidates_of(eval, options.lengths.back());
  if (!candidates) return fail(candidates.error());
  eval.settings["chat-template"] = command.chat_template;
  if (command.group == "longbench2") eval.settings["answers"] = command.generate ? "generated" : "letters";
  Result<Session> session = start_session(eval, command.group, words);
  if (!session) return fail(session.error());
  eval::BenchmarkCost all;
  const Result<std::vector<CacheGroup>> groups = by_cache(eval, session->model, *candidates);
  if (!groups) return fail(groups.error());
  for (const CacheGroup& group : *groups) {
    Result<LlamaContext> context = ready_context(command, group.context, session->model, options);
    if (!context) return fail(context.error());
    const Result<eval::BenchmarkCost> cost = measure_answers(session->model, *context, texts, group.candidates, options,
                                                             session->run, make_control(session->run));
    if (!cost) return ended(cost.error(), eval);
    all.prompt_tokens += cost->prompt_tokens;
    all.computed_tokens += cost->computed_tokens;
    all.too_long = cost->too_long;
    all.asked.insert(all.asked.end(), cost->asked.begin(), cost->asked.end());
  }
  if (all.prompt_tokens > 0 && !eval.json) {
    note("computed {} of {} prompt tokens; prompts that begin alike share the rest\n", all.computed_tokens,
         all.prompt_tokens);
  }
  if (all.too_long > 0) say_too_long(all.too_long);
  return print_scores(eval, session->run.info(), records_of(session->run, all.asked), options.lengths);
}

Result<eval::TokenCount> vocabulary_count(const EvalOptions& eval) {
  LlamaModelOptions load = eval.load;
  load.vocab_only = true;
  Result<LlamaModel> model = LlamaModel::load(eval.model, load);
  if (!model) return model.error();
  auto kept = std::make_shared<LlamaModel>(*std::move(model));
  return eval::TokenCount([kept, count = eval::token_counter(*kept)](std::string_view text) { return count(text); });
}

}  // namespace mrrope::cli

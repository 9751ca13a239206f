// SPDX-License-Identifier: MIT
//
// mrrope eval: what the plans are worth on the user's own model and text.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/eval/cache_types.h"
#include "cli/eval/eval.h"
#include "cli/eval/ppl.h"
#include "cli/eval/session.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "mrrope/perplexity.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

struct GapCommand {
  EvalOptions eval;
  std::string gaps;
  std::string tokens = "2k";
  int segments = 2;
  int windows = 4;
};

using Documents = std::vector<eval::Document>;
using Candidates = std::vector<eval::Candidate>;

// What is left of a command once its flags are understood.
struct Measurement {
  std::string name;
  std::int64_t document_tokens = 0;   // of each text
  std::int64_t ctx_size = 0;          // of the context
  std::vector<std::int64_t> columns;  // of the table
  std::function<Result<void>(Session&, LlamaContext&, const Documents&, const Candidates&)> measure;
};

int run_task(EvalOptions options, const std::vector<std::string>& command, const Measurement& task) {
  if (const auto ok = take_cache_types(options); !ok) return fail(ok.error());
  const Result<Candidates> candidates = candidates_of(options, task.columns.back());
  if (!candidates) return fail(candidates.error());
  Result<Session> session = start_session(options, task.name, command);
  if (!session) return fail(session.error());
  const Result<Documents> documents = eval::load_documents(session->model, options.texts, task.document_tokens);
  if (!documents) return fail(documents.error());
  Result<std::vector<CacheGroup>> groups = by_cache(options, session->model, *candidates);
  if (!groups) return fail(groups.error());
  for (CacheGroup& group : *groups) {
    group.context.ctx_size = task.ctx_size;
    Result<LlamaContext> context = LlamaContext::create(session->model, group.context);
    if (!context) return fail(context.error());
    if (const auto ok = task.measure(*session, *context, *documents, group.candidates); !ok) {
      return ended(ok.error(), options);
    }
  }
  return print_results(options, session->run.info(), session->run.records(), candidates_of(*groups), task.columns);
}

// One tensor of positions serves all layers: the probe would move those that never reach far, too, also without a plan.
Result<void> check_no_windows(const std::string& model) {
  const Result<ModelFile> file = read_model(model);
  if (!file) return file.error();
  const Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return Error{spec.error().code, to_string(spec.error()), model};
  if (!has_windows(*spec)) return {};
  return Error{ErrorCode::unsupported,
               "some of its layers see only a window, which the probe would move, too: use mrrope eval ppl", model};
}

int run_gap(const GapCommand& options, const std::vector<std::string>& command) {
  eval::GapOptions gap{.gaps = {}, .segments = options.segments, .windows = options.windows};
  const Result<std::vector<std::int64_t>> gaps = parse_lengths(options.gaps, "--gaps");
  if (!gaps) return fail(gaps.error());
  gap.gaps = *gaps;
  const Result<std::int64_t> tokens = parse_context(options.tokens);
  if (!tokens) return fail({tokens.error().code, to_string(tokens.error()), "--tokens"});
  gap.tokens = *tokens;
  if (const auto ok = check_no_windows(options.eval.model); !ok) return fail(ok.error());
  EvalOptions eval = options.eval;
  eval.settings["window"] = fmt::format("{} tokens, {} segments, {} per text", gap.tokens, gap.segments, gap.windows);
  return run_task(eval, command,
                  {.name = "gap",
                   .document_tokens = gap.tokens * std::max(1, gap.windows) * 4,
                   .ctx_size = gap.tokens,
                   .columns = gap.gaps,
                   .measure = [&](Session& session, LlamaContext& context, const Documents& documents,
                                  const Candidates& candidates) {
                     return measure_gap(session.model, context, documents, candidates, gap, session.run,
                                        make_control(session.run));
                   }});
}

}  // namespace

int run_ppl_in_process(const PplCommand& options, const std::vector<std::int64_t>& lengths,
                       const std::vector<std::string>& command) {
  eval::PplOptions ppl{.lengths = lengths, .chunks = options.protocol == "llama-perplexity"};
  if (ppl.chunks && lengths.size() != 1) {
    return fail({ErrorCode::invalid_argument, "llama-perplexity knows one length at a time", "--lengths"});
  }
  const std::int64_t longest = lengths.back();
  if (!options.kl.empty()) {
    const Result<std::int64_t> kl = parse_context(options.kl);
    if (!kl) return fail({kl.error().code, to_string(kl.error()), "--kl"});
    ppl.kl_tokens = std::min(*kl, longest);
  }
  EvalOptions eval = options.eval;
  eval.settings["protocol"] = options.protocol;
  bool said = false;
  return run_task(eval, command,
                  {.name = "ppl",
                   .document_tokens = ppl.chunks ? std::int64_t{1} << 24 : longest,
                   .ctx_size = longest,
                   .columns = lengths,
                   .measure = [&](Session& session, LlamaContext& context, const Documents& documents,
                                  const Candidates& candidates) {
                     if (!std::exchange(said, true)) {  // not again for each type of cache
                       std::vector<TextLength> read;
                       for (const eval::Document& d : documents) read.push_back({d.name, std::ssize(d.tokens)});
                       say_shorter(read, longest);
                     }
                     return measure_ppl(session.model, context, documents, candidates, ppl, session.run,
                                        make_control(session.run));
                   }});
}

void add_gap(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  auto gap = std::make_shared<GapCommand>();
  CLI::App* command =
      program.add_subcommand("gap",
                             "long distances without long texts\n"
                             "\n"
                             "  mrrope eval gap -m model.gguf -f text.txt --factor 4 --gaps 0,8k,16k,32k\n");
  add_eval_options(*command, gap->eval);
  add_cache_option(*command, gap->eval);
  command->add_option("--gaps", gap->gaps, "how much further the last segment seems: 0,8k,32k")
      ->required()
      ->type_name("LIST");
  command->add_option("--tokens", gap->tokens, "of a window (2k)")->type_name("N");
  command->add_option("--segments", gap->segments, "the gap is spread between them (2)")
      ->check(CLI::Range(2, 64))
      ->type_name("N");
  command->add_option("--windows", gap->windows, "per text (4)")->check(CLI::Range(1, 10000))->type_name("N");
  command->callback([gap, &action, words] { action = [gap, words] { return run_gap(*gap, words); }; });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// Benchmarks on servers.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/paths.h"
#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/eval/endpoint.h"
#include "cli/terminal.h"
#include "mrrope/served.h"

namespace mrrope::cli {

int run_on_servers(const EvalOptions& eval, const BenchmarkCommand& command, const eval::TaskTexts& texts,
                   const eval::BenchmarkOptions& options, const std::vector<std::string>& words) {
  const Result<ServerOptions> ready = servers_of(command.servers, command.chat);
  if (!ready) return fail(ready.error());
  const ServerOptions& servers = *ready;

  eval::TokenCount count;
  std::string counted;  // by what
  if (!eval.model.empty()) {
    Result<eval::TokenCount> vocabulary = vocabulary_count(eval);
    if (!vocabulary) return fail(vocabulary.error());
    count = *std::move(vocabulary);
    counted = base::to_text(base::to_path(eval.model).filename());
  } else {
    Result<eval::ServedCount> served = eval::count_on_servers(servers, cancel_on_signals());
    if (!served) return ended(served.error(), eval);
    if (!served->exact) {
      note("the servers do not tokenise: lengths are estimated and checked by their usage figures\n");
    }
    count = served->count;
    counted = served->exact ? "/tokenize" : "estimated";
  }
  eval::RunInfo info{.task = command.group,
                     .model = command.servers.model,
                     .model_hash = eval::content_hash("served"),  // plans are served under names of their own
                     .architecture = "",
                     .engine = command.chat ? "/v1/chat/completions" : "/v1/completions",
                     .served = true};
  info.settings = {{"endpoint", info.engine}, {"tokens", counted}};
  info.command = words;
  Result<OpenRun> run = open_run(eval, std::move(info));
  if (!run) return fail(run.error());
  const Result<eval::ServedCost> cost =
      measure_served(servers, command.servers.method(), texts, count, options, run->folder, make_control(run->folder));
  if (!cost) return ended(cost.error(), eval);
  if (cost->too_long > 0) say_too_long(cost->too_long);
  if (cost->over_budget > 0) {
    note("{} of {} prompts were longer than asked, by the servers' count\n", cost->over_budget, cost->answered);
  }
  if (cost->answered == 0 && cost->first_failure && cost->first_failure->code == ErrorCode::too_long) {
    return fail(*cost->first_failure);
  }
  eval::RunInfo shown = run->folder.info();
  shown.model = command.servers.model;
  const std::vector<eval::Record> records = records_of(run->folder, cost->asked);
  // Where every request failed there is nothing to show, and the reason is not the lengths
  const bool scores = !records.empty() || cost->failed == 0;
  const int status = scores ? print_scores(eval, shown, records, options.lengths) : 1;
  if (cost->failed == 0) return status;
  return fail({ErrorCode::io,
               fmt::format("{} samples have no answer; the same command asks again. The first: {}", cost->failed,
                           to_string(*cost->first_failure)),
               ""});
}

}  // namespace mrrope::cli

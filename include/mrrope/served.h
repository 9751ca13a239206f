// SPDX-License-Identifier: MIT
//
// Runs long-context tasks (mrrope/tasks.h) on OpenAI-compatible servers, under the plan they were started with; and
// perplexity on those that say how likely the tokens of a prompt are (vLLM, SGLang).
//
//   BenchmarkOptions options{.tasks = {find_task("niah")}, .lengths = {8192, 16384}, .samples = 20};
//   Result<ServedCount> count = count_on_servers(servers);
//   measure_served(servers, "mrrope-pro", texts, count->count, options, run);      // into a RunFolder
//
//   Result<ScoringServers> scoring = scoring_servers(servers);
//   std::vector<ServedText> texts = *texts_on_servers(servers, {"texts/*"}, 32768);
//   measure_served_ppl(*scoring, "mrrope-pro", texts, {8192, 32768}, run);
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mrrope/measure.h"
#include "mrrope/records.h"
#include "mrrope/result.h"
#include "mrrope/servers.h"
#include "mrrope/tasks.h"

namespace mrrope::eval {

// How servers' tokens are counted: by their /tokenize, else by an estimate from bytes and digits, whose prices come
// from two requests whose usage they tell.
struct ServedCount {
  TokenCount count;
  bool exact = true;
};
Result<ServedCount> count_on_servers(const ServerOptions& servers, const std::atomic<bool>* cancel = nullptr);

// The same on servers, whose plan is what they were started with: `label` stands as the method in the records. `count`
// counts tokens as their model does. Samples that fail for good are left out of the run and counted.
struct ServedCost {
  std::int64_t answered = 0, failed = 0;
  std::int64_t over_budget = 0;         // answered, but longer than asked by the servers' own count
  std::int64_t too_long = 0;            // items of a file that do not fit the length, left out
  std::vector<std::string> asked = {};  // as of BenchmarkCost
  std::optional<Error> first_failure = {};
};
Result<ServedCost> measure_served(const ServerOptions& servers, const std::string& label, const TaskTexts& texts,
                                  const TokenCount& count, const BenchmarkOptions& options, RunFolder& run,
                                  const Control& control = {});

// Servers that score prompts.
struct ScoringServers {
  ServerOptions servers;                    // with the way they are asked
  std::optional<std::int64_t> length = {};  // of a request, as the first of them says
};
// By what the first of them is; one that is just loading is waited for. A server that does not tell is taken for a vLLM
// behind something else, and the first answer shows. Errors: unsupported for software that scores no prompts, with what
// to do instead; else as of run_requests.
Result<ScoringServers> scoring_servers(const ServerOptions& servers, const std::atomic<bool>* cancel = nullptr);

// A text to be read, as Document of mrrope/perplexity.h: the same name, hash and tokens give records of the same text.
struct ServedText {
  std::string name;
  std::string hash;
  std::vector<std::int32_t> tokens;
};
// As load_documents() of mrrope/perplexity.h, by the servers' POST /tokenize: at most `tokens` of each file or entry,
// and before them what their tokenizer puts before every text. Words for special tokens that stand in a text are read
// as those, which a vocabulary of llama.cpp does not do.
Result<std::vector<ServedText>> texts_on_servers(const ServerOptions& servers, std::span<const std::string> patterns,
                                                 std::int64_t tokens, const std::atomic<bool>* cancel = nullptr);

// -ln p of the same tokens, and the same sums, as measure_ppl() of mrrope/perplexity.h, with one request per text.
// `lengths`: ascending, at least 2; a text shorter than all of them is left out. What was computed is not known:
// records have no table.
Result<ServedCost> measure_served_ppl(const ScoringServers& scoring, const std::string& label,
                                      std::span<const ServedText> texts, const std::vector<std::int64_t>& lengths,
                                      RunFolder& run, const Control& control = {});

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Runs long-context tasks (mrrope/tasks.h): in process under any number of plans, or on servers.
//
//   BenchmarkOptions options{.tasks = {find_task("niah")}, .lengths = {8192, 16384}, .samples = 20};
//   measure_answers(model, context, texts, plans, options, run);      // into a RunFolder
//   score_table(run.records());                                       // mrrope/statistics.h
//
// All plans get the same samples, so differences are paired. In process, prompts that begin alike are computed once as
// far as they agree (never across plans: cached keys are rotated), and the answers are those of separate runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mrrope/perplexity.h"
#include "mrrope/servers.h"
#include "mrrope/tasks.h"

namespace mrrope {

// What stands around a prompt: the model's chat template, cut where the prompt goes.
struct PromptFrame {
  std::string before;  // read with special tokens, as `after` is; the prompt between them without
  std::string after;
  std::string name = "none";  // for the record: "none", "file", "chatml"

  bool operator==(const PromptFrame&) const = default;
};
// `choice`: "auto" (the file's template if it has one that llama.cpp recognises, else none), "none", "file", or a name
// that llama.cpp knows. A model that thinks before it answers gets an empty thought: budgets of benchmarks have no room
// for another (docs/benchmarks.md).
Result<PromptFrame> make_frame(const LlamaModel& model, const std::string& choice);

// Counts as the model does. Domain: the model lives as long as the counter.
TokenCount token_counter(const LlamaModel& model);

struct BenchmarkOptions {
  std::vector<const Task*> tasks;
  std::vector<std::int64_t> lengths;  // tokens of prompt, template and answer together; ascending
  std::int64_t samples = 20;          // per task and length; with `depths` per depth, too
  int depths = 0;                     // needle depths in equal steps from start to end; 0: stratified over samples
  std::uint64_t seed = 42;
  PromptFrame frame = {};
  std::int64_t shard = 0, shards = 1;  // only samples of this shard; plans of a sample stay together
  // longbench2 in process: the likeliest of the letters after "The correct answer is (", as MrRoPE's authors do, in the
  // place of a generated text. One pass, and every model answers.
  bool letters = true;
  bool share_prefixes = true;  // false computes every prompt from its start, for comparison
};

struct BenchmarkCost {
  std::int64_t prompt_tokens = 0;    // of all prompts answered now
  std::int64_t computed_tokens = 0;  // of them, after sharing
  std::int64_t too_long = 0;         // items of a file that fit no answer into the length, left out
  std::vector<std::string> asked;    // keys of the records that were asked for: measured now, or there before
};

// Errors: a task whose texts are missing, a length the task does not fit, what the engine says.
// Memory: the prompts of one task.
Result<BenchmarkCost> measure_answers(const LlamaModel& model, LlamaContext& context, const TaskTexts& texts,
                                      std::span<const Candidate> candidates, const BenchmarkOptions& options,
                                      RunFolder& run, const Control& control = {});

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

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// Runs long-context tasks (mrrope/tasks.h) in process, under any number of plans. (On servers: mrrope/served.h.)
//
//   BenchmarkOptions options{.tasks = {find_task("niah")}, .lengths = {8192, 16384}, .samples = 20};
//   measure_answers(model, context, texts, plans, options, run);      // into a RunFolder
//   score_table(run.records());                                       // mrrope/statistics.h
//
// All plans get the same samples, so differences are paired. In process, prompts that begin alike are computed once as
// far as they agree (never across plans: cached keys are rotated), and the answers are those of separate runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mrrope/measure.h"
#include "mrrope/records.h"
#include "mrrope/result.h"
#include "mrrope/runtime.h"
#include "mrrope/tasks.h"

namespace mrrope::eval {

// `choice`: "auto" (the file's template if it has one that llama.cpp recognises, else none), "none", "file", or a name
// that llama.cpp knows. A model that thinks before it answers gets an empty thought: budgets of benchmarks have no room
// for another (docs/benchmarks.md).
Result<PromptFrame> make_frame(const LlamaModel& model, const std::string& choice);

// Counts as the model does. Domain: the model lives as long as the counter.
TokenCount token_counter(const LlamaModel& model);

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

}  // namespace mrrope::eval

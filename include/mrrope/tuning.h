// SPDX-License-Identifier: MIT
//
// Finds the plan for a model by running it: the search of mrrope/tune.h, with llama.cpp as its judge.
//
//   TuneOptions options = *tune_defaults(spec, 8192);
//   TuneTexts texts = *tune_texts(model, {"texts/*"}, options);
//   Result<Tuned> tuned = tune_model(model, context, spec, texts, options, search_run, verdict_run);
//   tuned->plan;                     // what to use
//   tuned->verdict.recommended;      // "tuned", or the fixed method that it did not beat on unseen texts
//
// Whatever is measured goes into two run folders and is never measured again: a search that was interrupted goes on
// where it stopped. docs/tune.md explains objective, search and verdict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mrrope/benchmarks.h"
#include "mrrope/measure.h"
#include "mrrope/perplexity.h"
#include "mrrope/plan.h"
#include "mrrope/records.h"
#include "mrrope/result.h"
#include "mrrope/runtime.h"
#include "mrrope/tune.h"

namespace mrrope::eval {

struct TuneOptions {
  std::int64_t context_target = 0;
  std::int64_t context_trained = 0;
  // A text as it is read, at most the target. Longer costs more than it tells.
  std::int64_t read_tokens = 0;
  std::vector<std::int64_t> prompt_lengths = {};  // of tasks, beyond the trained length
  std::vector<const Task*> tasks = {};            // that are tuned on, one after the other
  const Task* unseen = nullptr;                   // that only the verdict asks
  // At most; fewer where a budget would not pay for some thirty tables otherwise.
  std::size_t items = 6;     // a text and the prompts of one task at one length, each
  std::int64_t samples = 3;  // prompts of an item
  // At most; fewer where they would take more than half of the minutes.
  std::size_t held_out_texts = 6;
  std::int64_t held_out_samples = 4;  // of every task and length
  PromptFrame frame = {};
  tune::SpaceOptions space = {};
  tune::Prefer prefer = tune::Prefer::balanced;
  double minutes = 30;            // for search and verdict together, by the speed of the first text …
  std::int64_t token_budget = 0;  // … unless this many tokens are given for the search
  std::uint64_t seed = 1;
};

// What fits a model and a target. Errors: a target that the model reaches already.
Result<TuneOptions> tune_defaults(const RopeSpec& spec, std::int64_t context_target);

// Texts to tune on, and others to judge by: of several files other files, of one its end.
struct TuneTexts {
  std::vector<Document> tuning, held_out;
  TaskTexts tasks;        // their haystack
  bool built_in = false;  // nobody brought any
};
// Without patterns: prose of built-in words. Errors: files too short for one text of each kind, `option` is "file".
Result<TuneTexts> tune_texts(const LlamaModel& model, std::span<const std::string> patterns,
                             const TuneOptions& options);

struct Tuned {
  Plan plan;                                // of the recommended method
  std::string label;                        // of what was found, in records: "tuned-3fa2", by its spelling
  std::string tuned;                        // the best that the search found, as spelt
  std::string best_fixed;                   // by the tuning data
  std::vector<tune::Candidate> candidates;  // in the order of measuring; the last ones may not be measured
  tune::Verdict verdict;
  std::int64_t tokens = 0;  // of the search
  std::size_t held_out_texts = 0, held_out_prompts = 0;
};

// Domain: the context holds the longest of read_tokens and prompt_lengths. Errors: minutes too few for a search and a
// verdict (`option` is "minutes"), known after the first text; what the engine says.
Result<Tuned> tune_model(const LlamaModel& model, LlamaContext& context, const RopeSpec& spec, const TuneTexts& texts,
                         const TuneOptions& options, RunFolder& search_run, RunFolder& verdict_run,
                         const Control& control = {});

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// What every measurement takes: a model and how to run it, candidates, a place for the records.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "mrrope/measure.h"
#include "mrrope/records.h"
#include "mrrope/runtime.h"

namespace mrrope::cli {

struct EvalOptions {
  std::string model;
  std::vector<std::string> texts;
  std::string methods;
  std::string factors;
  std::vector<std::string> plans;  // --plan
  std::string ladder;              // --ladder
  std::string trained;             // --trained
  std::string llama_folder;        // --llama
  std::string output;
  bool json = false;
  LlamaModelOptions load;
  ContextOptions context;
  std::vector<std::string> cache_types;         // --cache-types: the first is the context's own
  std::map<std::string, std::string> settings;  // that change a number, besides those of the context
};

// -m, -f, --methods, --factor, --trained, -o, --json and the flags of llama.cpp.
void add_eval_options(CLI::App& command, EvalOptions& options);

// --plan and --ladder: files, each one more row.
void add_file_options(CLI::App& command, EvalOptions& options);

// --cache-types: each plan once with each of them.
void add_cache_option(CLI::App& command, EvalOptions& options);

// Their parts, for commands that have others between them: --methods, --factor and --trained; -o and --json; the flags
// of llama.cpp.
void add_plan_options(CLI::App& command, EvalOptions& options, bool factor_required);
void add_output_options(CLI::App& command, EvalOptions& options);
void add_llama_options(CLI::App& command, EvalOptions& options);

// The methods times the factors, on this model; none is the file as it is, once. Then plan files and the rungs of a
// ladder, which may stand alone. `longest`: of the texts; an error if the ladder does not reach it.
Result<std::vector<eval::Candidate>> candidates_of(const EvalOptions& options, std::int64_t longest = 0);

// "8k,16k,32k", ascending. `flag` for errors.
Result<std::vector<std::int64_t>> parse_lengths(const std::string& text, const std::string& flag);

// The folder of -o, or one that goes away with the process. Machine, time and version of `info` are filled in.
struct OpenRun {
  eval::RunFolder folder;
  std::shared_ptr<void> temporary;  // removes a folder that nobody asked for
};
Result<OpenRun> open_run(const EvalOptions& options, eval::RunInfo info);

// Becomes true on Ctrl-C or SIGTERM, from the first call on.
const std::atomic<bool>* cancel_on_signals();
// Ctrl-C asks the measurement to stop; a second one ends the process. show_progress() says how far it is. Domain: the
// run lives as long as the measurement.
eval::Control make_control(const eval::RunFolder& run);
// The exit status of a measurement that ended with an error: 130 if it was interrupted.
int ended(const Error& error, const EvalOptions& options);

// {"schema": "mrrope.eval/1", …, "results": []}
base::Json report_head(const eval::RunInfo& info);
// The perplexities of what was asked for now, as JSON or as a table by method and length; a folder may hold more.
int print_results(const EvalOptions& options, const eval::RunInfo& info, std::span<const eval::Record> records,
                  std::span<const eval::Candidate> candidates, std::span<const std::int64_t> lengths);
// What to do with a folder that was kept, if one was.
void print_next(const EvalOptions& options);
}  // namespace mrrope::cli

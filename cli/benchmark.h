// SPDX-License-Identifier: MIT
//
// What the commands that ask questions take: tasks, samples, texts, and a model or servers.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/eval.h"
#include "mrrope/benchmarks.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

struct BenchmarkCommand {
  std::string group;  // "niah", "ruler", "infinitebench", "longbench2"
  EvalOptions eval;
  std::string tasks;
  std::string lengths;
  std::int64_t samples = 0;
  int depths = 0;
  std::uint64_t seed = 42;
  std::string chat_template = "auto";
  std::string words;
  std::string questions;
  std::string items;
  std::string shard;
  bool no_sharing = false;
  bool generate = false;

  std::vector<std::string> endpoints;
  std::string served_model;
  std::string not_for_servers;  // a flag that was given and means nothing to them
  std::string label;            // empty: served_model
  bool chat = false;
  int concurrency = 8;
  double deadline = 600;
  std::string key_variable = "MRROPE_API_KEY";  // whose value is the key; a key itself is never an argument
};

// What the flags ask for, and the texts they name.
struct Prepared {
  TaskTexts texts;
  BenchmarkOptions options;
};
Result<Prepared> prepare(const BenchmarkCommand& command);

// The context its prompts need. The chat template that was asked for goes into the options.
Result<LlamaContext> ready_context(const BenchmarkCommand& command, const LlamaModel& model, BenchmarkOptions& options);

// Runs it: in process, or on servers if there are endpoints. The exit status.
int run_benchmark(const BenchmarkCommand& command, const std::vector<std::string>& words);

base::Json score_json(const ScoreRow& row);
// A folder may hold more than was asked for now: other texts, seeds and depths. What has one of the keys.
std::vector<Record> records_of(const RunFolder& run, std::span<const std::string> keys);
// {"schema": "mrrope.eval/1", …} or a table by task, method and length.
int print_scores(const EvalOptions& options, const RunInfo& info, std::span<const Record> records,
                 std::span<const std::int64_t> lengths);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// What the commands that ask questions take: tasks, samples, texts, and a model or servers.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/eval/eval.h"
#include "cli/eval/server_flags.h"
#include "mrrope/measure.h"
#include "mrrope/records.h"
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
  std::vector<std::string> items;
  std::string shard;
  bool no_sharing = false;
  bool generate = false;

  ServerFlags servers;
  bool chat = false;
};

// What the flags ask for, and the texts they name.
struct Prepared {
  eval::TaskTexts texts;
  eval::BenchmarkOptions options;
};
Result<Prepared> prepare(const BenchmarkCommand& command);

// Runs it: in process, or on servers if there are endpoints. The exit status.
int run_benchmark(const BenchmarkCommand& command, const std::vector<std::string>& words);

// Its two ways; a program without llama.cpp, or without libcurl, says so instead (without_*.cpp).
int run_in_process(EvalOptions eval, const BenchmarkCommand& command, const eval::TaskTexts& texts,
                   eval::BenchmarkOptions options, const std::vector<std::string>& words);
int run_on_servers(const EvalOptions& eval, const BenchmarkCommand& command, const eval::TaskTexts& texts,
                   const eval::BenchmarkOptions& options, const std::vector<std::string>& words);
// Counts tokens by the vocabulary of -m.
Result<eval::TokenCount> vocabulary_count(const EvalOptions& eval);

// What was typed is wrong.
Error usage(std::string message, std::string flag);
void say_too_long(std::int64_t items);

base::Json score_json(const eval::ScoreRow& row);
// A folder may hold more than was asked for now: other texts, seeds and depths. What has one of the keys.
std::vector<eval::Record> records_of(const eval::RunFolder& run, std::span<const std::string> keys);
// {"schema": "mrrope.eval/1", …} or a table by task, method and length.
int print_scores(const EvalOptions& options, const eval::RunInfo& info, std::span<const eval::Record> records,
                 std::span<const std::int64_t> lengths);

}  // namespace mrrope::cli

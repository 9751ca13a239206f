// SPDX-License-Identifier: MIT
//
// Runs long-context tasks (mrrope/tasks.h) on OpenAI-compatible servers, under the plan they were started with.
//
//   BenchmarkOptions options{.tasks = {find_task("niah")}, .lengths = {8192, 16384}, .samples = 20};
//   Result<ServedCount> count = count_on_servers(servers);
//   measure_served(servers, "mrrope-pro", texts, count->count, options, run);      // into a RunFolder
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
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

}  // namespace mrrope::eval

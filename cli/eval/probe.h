// SPDX-License-Identifier: MIT
//
// What `mrrope probe` finds out about a server, and the part of it that takes the model's weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/eval/eval.h"
#include "mrrope/model_file.h"
#include "mrrope/probe.h"
#include "mrrope/runtime.h"
#include "mrrope/server_info.h"
#include "mrrope/statements.h"

namespace mrrope::cli {

struct ProbedTable {
  probe::TableVerdict verdict;
  std::string cache_type = {};  // of the server; empty: not told
  std::int64_t longest = 0;     // tokens of the longest prompt that was asked for
  Statements said = {};
};

// What has to be true of the server, and whether it is.
struct Expectation {
  std::string table = {};                   // name of the plan; empty: any
  std::optional<std::int64_t> length = {};  // tokens that are accepted and read; nothing: any
  std::string unmet = {};                   // why not; empty: all of it is true
};

// Of each part: what was found, or why nothing was; neither if it was not asked for.
struct Probed {
  std::string url;
  ServerInfo server = {};
  std::optional<probe::Length> length = {};
  std::string no_length = {};
  std::optional<ProbedTable> table = {};
  std::string no_table = {};
  std::optional<probe::Health> health = {};
  std::string no_health = {};
  std::vector<Finding> findings = {};
  std::optional<Expectation> expected = {};
  double seconds = 0;

  [[nodiscard]] int requests() const;
  [[nodiscard]] std::int64_t prompt_tokens() const;
};

// The model of -m, which is the server's. A program without llama.cpp has none (without_llama.cpp).
using Weights = std::shared_ptr<const LlamaModel>;
Result<Weights> load_weights(const std::string& path, const LlamaModelOptions& options);
// Its functions keep the weights.
Vocabulary vocabulary_of(const Weights& weights);

struct TableQuestion {
  std::vector<probe::Suspect> suspects;
  StatementOptions statements;
};
// Asks the server for its log probabilities and runs the suspects here.
Result<ProbedTable> probe_table(const ServerOptions& server, const ServerInfo& info, const Weights& weights,
                                const ContextOptions& context, const TableQuestion& question,
                                const std::atomic<bool>* cancel);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// What measurements in process take besides: a model in memory. Only where llama.cpp is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/eval/eval.h"
#include "mrrope/runtime.h"

namespace mrrope::cli {

struct BenchmarkCommand;

// A model in memory, and the folder its records go to.
struct Session {
  LlamaModel model;
  eval::RunFolder run;
  std::shared_ptr<void> temporary;
};
Result<Session> start_session(const EvalOptions& options, const std::string& task,
                              const std::vector<std::string>& command);

// The context that the prompts of a benchmark need. The chat template that was asked for goes into the options.
Result<LlamaContext> ready_context(const BenchmarkCommand& command, ContextOptions context, const LlamaModel& model,
                                   eval::BenchmarkOptions& options);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// Names a server's table by running its weights here, in llama.cpp: mrrope/fingerprint.h asks, this answers.
//
//   Result<probe::TableVerdict> table = name_table(model, options, suspects, said.statements);
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "mrrope/fingerprint.h"
#include "mrrope/result.h"
#include "mrrope/runtime.h"

namespace mrrope::eval {

struct NamedTable {
  probe::TableVerdict verdict;
  std::string cache_type = {};  // of the server, where it is another than that of the options: "q8_0"
  std::int64_t tokens = 0;      // that were computed
};

// What the plan makes of the statements' tokens. The context holds the longest of them, and keeps its cache between
// statements that begin alike. Errors: of LlamaContext.
Result<probe::Echo> echo(LlamaContext& context, const Plan& plan, const std::vector<probe::Statement>& statements,
                         const std::vector<std::size_t>& which, std::int64_t& tokens,
                         const std::atomic<bool>* cancel = nullptr);

// A server may keep its cache in another type than was asked for here, which disturbs every row. The type of its values
// is found first, by the statements of single tokens; that of its keys is taken to be the same unless another one
// clearly explains the first few texts better under the nearest suspect.
// `progress` hears of every table that is run: how many so far, how many suspects are left.
Result<NamedTable> name_table(const LlamaModel& model, const ContextOptions& options,
                              const std::vector<probe::Suspect>& suspects,
                              const std::vector<probe::Statement>& statements,
                              const std::function<void(std::size_t run, std::size_t alive)>& progress = nullptr,
                              const std::atomic<bool>* cancel = nullptr);

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Types of cache as rows: each plan once with each of them. Only where llama.cpp is.
#pragma once

#include <vector>

#include "cli/eval/eval.h"
#include "mrrope/runtime.h"

namespace mrrope::cli {

// Candidates that run in one context, and its options.
struct CacheGroup {
  ContextOptions context;
  std::vector<eval::Candidate> candidates;
};

// The first of --cache-types becomes the context's own. Error: beside --cache-type-k or -v; a type twice.
Result<void> take_cache_types(EvalOptions& options);

// `plans` under each type; without the option, one group. Error: a type that this model cannot have, found here and not
// after hours of the types before it.
Result<std::vector<CacheGroup>> by_cache(const EvalOptions& options, const LlamaModel& model,
                                         const std::vector<eval::Candidate>& plans);

// Of all groups, in their order.
std::vector<eval::Candidate> candidates_of(const std::vector<CacheGroup>& groups);

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include "cli/eval/cache_types.h"

#include <algorithm>

#include "runs/cache_name.h"

namespace mrrope::cli {

Result<void> take_cache_types(EvalOptions& options) {
  if (options.cache_types.empty()) return {};
  const ContextOptions untouched;
  if (options.context.cache_type_k != untouched.cache_type_k ||
      options.context.cache_type_v != untouched.cache_type_v) {
    return Error{ErrorCode::invalid_argument, "expected this, or the types of keys and values, and not both",
                 "--cache-types"};
  }
  std::vector<std::string> sorted = options.cache_types;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return Error{ErrorCode::invalid_argument, "expected each type once", "--cache-types"};
  }
  options.context.cache_type_k = options.context.cache_type_v = options.cache_types.front();
  return {};
}

Result<std::vector<CacheGroup>> by_cache(const EvalOptions& options, const LlamaModel& model,
                                         const std::vector<eval::Candidate>& plans) {
  constexpr std::int64_t kAnyLength = 256;  // enough to see whether llama.cpp takes the type
  if (options.cache_types.empty()) return std::vector<CacheGroup>{{options.context, plans}};
  std::vector<CacheGroup> groups;
  for (const std::string& type : options.cache_types) {
    CacheGroup group{options.context, plans};
    group.context.cache_type_k = group.context.cache_type_v = type;
    ContextOptions tried = group.context;
    tried.ctx_size = kAnyLength;
    if (const Result<LlamaContext> context = LlamaContext::create(model, tried); !context) {
      return Error{context.error().code, context.error().message, "--cache-types"};
    }
    if (!groups.empty()) {  // the first is the run's own
      for (eval::Candidate& candidate : group.candidates) {
        candidate.cache = type;
        candidate.method = eval::with_cache(candidate.method, type);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<eval::Candidate> candidates_of(const std::vector<CacheGroup>& groups) {
  std::vector<eval::Candidate> all;
  for (const CacheGroup& group : groups) all.insert(all.end(), group.candidates.begin(), group.candidates.end());
  return all;
}

}  // namespace mrrope::cli

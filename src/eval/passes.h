// SPDX-License-Identifier: MIT
//
// What passes over documents have in common: their keys, their progress, a candidate in the context.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <utility>

#include "mrrope/perplexity.h"

namespace mrrope::eval {

// Two records are the same measurement if these agree; the value is what decides them.
using Settings = std::initializer_list<std::pair<std::string_view, std::string>>;
std::string record_key(const RunInfo& info, const Candidate& candidate, const Document& document, Settings settings);

// An empty record of this candidate and document.
Record start_record(std::string key, std::string task, const Candidate& candidate, const Document& document);

std::optional<Error> apply(LlamaContext& context, const Candidate& candidate);

// Puts what the engine really did into the record.
void note_rotation(const LlamaContext& context, Record& record);

// A non-finite sum means that the model broke down (an overflow in float16, most likely): an error, not a number.
std::optional<Error> check_finite(const Record& record);

// Counts tokens over all passes and tells whoever listens, five times a second.
class Meter {
 public:
  Meter(const Control& control, std::size_t items, std::int64_t tokens_total);
  void start(std::string what);
  void advance(std::int64_t tokens);
  // A pass that was already there does not count.
  void skip(std::int64_t tokens);
  [[nodiscard]] bool cancelled() const;

 private:
  const Control& control_;
  Progress progress_;
  std::chrono::steady_clock::time_point last_;
};

inline Error cancelled_error() { return {ErrorCode::cancelled, "interrupted; what was finished is kept", ""}; }

}  // namespace mrrope::eval

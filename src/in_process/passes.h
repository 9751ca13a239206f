// SPDX-License-Identifier: MIT
//
// Passes of candidates over documents, into a run folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "measure/meter.h"
#include "mrrope/perplexity.h"

namespace mrrope::eval {

// What a plan is, whatever it is called and wherever it came from, and of which ladder it is a rung; for keys of
// records.
std::string identity_of(const Candidate& candidate);
// Makes the context rotate by it. Empties the cache.
Result<void> apply(LlamaContext& context, const Candidate& candidate);
// Whether the model climbs what is to climb: known before hours are spent on other candidates. Empties the cache.
Result<void> check_climbs(LlamaContext& context, std::span<const Candidate> candidates);

// What the layers that reach farthest did: those with the slowest pair. Layers that see a window only rotate faster,
// and as in the file under every plan. Domain: something was decoded.
Rotation reaching_rotation(const LlamaContext& context);

// A logit that is not a number means that the model broke down, most likely an overflow in float16. `record` says under
// what, and on what.
Result<void> check_finite(const Record& record, double nll);

// One kind of pass.
struct Pass {
  std::string task;
  // With the model, the plan, the text and the settings of the run, what decides the value of a record.
  std::vector<std::pair<std::string_view, std::string>> settings;
  // What a pass over this document computes; 0: nothing to do.
  std::function<std::int64_t(const Document&, const Candidate&)> tokens;
  // The candidate is in the context, whose cache is empty. What was computed is read back afterwards.
  std::function<Result<Reading>(const Document&, const Candidate&, Meter&)> run;
};

// Every candidate over every document, one document after the other; what the run has is not repeated, what is finished
// is appended at once. What the engine really did goes into the records. A sum that is not a number is an error.
Result<void> run_passes(LlamaContext& context, std::span<const Document> documents,
                        std::span<const Candidate> candidates, const Pass& pass, RunFolder& run,
                        const Control& control);

}  // namespace mrrope::eval

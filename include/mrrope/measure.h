// SPDX-License-Identifier: MIT
//
// What all measurements have in common, wherever the model runs: candidates, samples to ask for, progress.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mrrope/ladder.h"
#include "mrrope/plan.h"
#include "mrrope/tasks.h"
#include "mrrope/units.h"

namespace mrrope::eval {

// A row of the table: a method at a factor. With neither plan nor ladder the file as it is.
struct Candidate {
  std::string method;
  double factor = 1;
  std::optional<Plan> plan;
  std::optional<Ladder> climb = {};  // in the place of a plan: all texts climb it, in models that run here
  // A ladder is a row, too, of a candidate per rung: this one takes texts of more than `above` and up to `length`
  // tokens, prompt and answer together.
  std::string rung = {};  // its name; empty: no ladder
  std::int64_t above = 0;
  std::int64_t length = kMaxContext;
  // Of keys and values, where it is another than the context's own: the method then ends with ":cache=q4_0".
  std::string cache = {};

  [[nodiscard]] bool takes(std::int64_t tokens) const { return tokens > above && tokens <= length; }
  [[nodiscard]] bool same_row(const Candidate& other) const { return method == other.method && factor == other.factor; }
};

// A text that climbs, up to `context_target` tokens; a row like that of a plan, named as the rule is spelled. Errors: as
// climbing_ladder.
Result<Candidate> candidate_of(const RopeSpec& spec, std::int64_t context_target, const Climb& climb);

// The rungs of a ladder as servers of their own. What they are called says which rung has which method, so that two ladders are two rows:
// "ladder(none@8k,mrrope-pro@16k@32k)". The factor is that of the last rung; a rung of method none is the file as it
// is.
std::vector<Candidate> candidates_of(const Ladder& ladder);

struct Progress {
  std::size_t item = 0, items = 0;  // passes
  std::int64_t tokens = 0, tokens_total = 0;
  std::string what;  // "mrrope-pro x4, algebra.tex"
};

// For long work: progress is called several times a second at most; `cancel` ends it with ErrorCode::cancelled, what
// was finished stays in the run.
struct Control {
  std::function<void(const Progress&)> progress = nullptr;
  const std::atomic<bool>* cancel = nullptr;
};

// What stands around a prompt: the model's chat template, cut where the prompt goes.
struct PromptFrame {
  std::string before;  // read with special tokens, as `after` is; the prompt between them without
  std::string after;
  std::string name = "none";  // for the record: "none", "file", "chatml"

  bool operator==(const PromptFrame&) const = default;
};

struct BenchmarkOptions {
  std::vector<const Task*> tasks;
  std::vector<std::int64_t> lengths;  // tokens of prompt, template and answer together; ascending
  std::int64_t samples = 20;          // per task and length; with `depths` per depth, too
  int depths = 0;                     // needle depths in equal steps from start to end; 0: stratified over samples
  std::uint64_t seed = 42;
  PromptFrame frame = {};
  std::int64_t shard = 0, shards = 1;  // only samples of this shard, 0 … shards - 1; plans of a sample stay together
  // longbench2 in process: the likeliest of the letters after "The correct answer is (", as MrRoPE's authors do, in the
  // place of a generated text. One pass, and every model answers.
  bool letters = true;
  bool brief = false;  // in process: a reply ends where the right answer would, for those who want its likelihood
  bool share_prefixes = true;  // false computes every prompt from its start, for comparison
};

}  // namespace mrrope::eval

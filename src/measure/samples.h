// SPDX-License-Identifier: MIT
//
// Which samples a command asks for, and what makes two answers the same measurement. Shared by in-process and served
// runs.
#pragma once

#include <string>
#include <vector>

#include "mrrope/measure.h"
#include "mrrope/records.h"
#include "mrrope/result.h"

namespace mrrope::eval {

// One sample to make; cheap, so that a million can be listed before the first is made.
struct SampleSlot {
  const Task* task = nullptr;
  SampleRequest request;
};
// Of this shard, by task, then length, depth and index. Without frame_tokens. `items`: that a file has for the task;
// there are no more samples than those. Error: a shard that is none of 0 … shards - 1.
Result<std::vector<SampleSlot>> slots_of(const BenchmarkOptions& options, const Task& task, std::size_t items);

// Known before the sample is made, so that what a run has costs nothing. The model and the settings of the run, how
// tokens are counted among them, and `texts_hash` decide what a sample is; `candidate_text` what answers it.
std::string answer_key(const RunInfo& info, const std::string& candidate_text, const std::string& texts_hash,
                       const BenchmarkOptions& options, const SampleSlot& slot);

// Of what a task takes from the texts, answers included: other files may come and go.
std::string hash_of(const Task& task, const TaskTexts& texts);

// A record with all that does not depend on the answer, then the answer scored.
Record record_of(const Task& task, const Sample& sample);
void score_into(const Task& task, const Sample& sample, std::string text, Record& record);

}  // namespace mrrope::eval

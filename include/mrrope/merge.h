// SPDX-License-Identifier: MIT
//
// Run folders of one model, task and way of measuring become one: the shards of a Slurm array, runs of several
// machines.
//
//   Result<Merged> merged = merge_runs({"run-0", "run-1", "run-2"}, "run");
//   merged->records;   // 300 000
//
// Records are copied line by line as they are, each key once. Memory is 21 to 43 bytes per record, so that
// folders larger than the memory can be merged; a million records take some two seconds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mrrope/result.h"

namespace mrrope::eval {

struct Merged {
  std::size_t records = 0;         // in the output
  std::size_t repeated = 0;        // left out, because a record of the same key came before
  std::size_t contradictions = 0;  // of these: whose score or points differ from those of the record that was kept
  std::vector<std::string> torn;   // inputs whose last line was damaged (a process was killed); that line is left out
};

// `output` is a new folder: complete, or not there at all. Its run.json is that of the first input. Errors: inputs of
// another task, model or setting than the first; an output that exists; a damaged line anywhere but at the end of its
// file.
Result<Merged> merge_runs(const std::vector<std::string>& inputs, const std::string& output);

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// Runs in the files of other programs.
//
//   Result<std::vector<std::string>> files = export_lm_eval("run", "results", now);
//
// lm-evaluation-harness 0.4: for every plan a folder of its own,
//
//   DIR/<model>-<method>-x<factor>/results_<time>.json           scores and perplexities, configs, counts
//   DIR/<model>-<method>-x<factor>/samples_<task>_<time>.jsonl   one line per record
//
// with its keys and shapes, so that its tables, its loaders and what others built on them read our numbers. As in its
// RULER tasks metrics are named by length: "8192,none" is a score from 0 to 1, for ppl and gap a perplexity; "8192" in
// a sample that has another length is -1. Where we have to differ: prompts are not kept, `arg_0` is empty; hashes are
// XXH3, not SHA-256; configs[task].metadata.generator and lm_eval_version say "mrrope <version>".
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "mrrope/records.h"

namespace mrrope::eval {

// The files written, each plan's results last. `time` names them; what is there already stays. Names from records are
// made safe: no model, method or task leads out of the folder.
// The run is read twice, a record at a time: memory is that of mrrope/answers.h, and of documents their sums.
// Errors: no records, a damaged run, a folder that cannot be written.
Result<std::vector<std::string>> export_lm_eval(const std::string& run, const std::string& folder,
                                                std::chrono::system_clock::time_point time);

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
//
// What `mrrope tune` says in the end: to people, and as the document that stays in its folder.
#pragma once

#include <string>
#include <vector>

#include "mrrope/model_file.h"
#include "mrrope/tuning.h"

namespace mrrope::cli {

struct TuneResult {
  const eval::Tuned& tuned;
  const eval::TuneOptions& options;
  std::string model;               // as it was given, and so are
  std::string trained;             // --trained
  std::vector<std::string> texts;  // -f
  std::string model_hash;
  std::string folder;
  bool built_in_texts = false;
};

// {"schema": "mrrope.tune/1", …}: docs/tune.md has its fields. `mrrope report` and `mrrope plan` read it.
std::string tune_json(const TuneResult& result);

void print_tuned(const TuneResult& result, const ModelFile& file);

}  // namespace mrrope::cli

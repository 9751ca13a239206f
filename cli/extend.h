// SPDX-License-Identifier: MIT
//
// What `mrrope extend` says when it is done, for people or as JSON.
#pragma once

#include "mrrope/mrrope.h"

namespace mrrope::cli {

struct ExtendOutcome {
  Extension extension;
  std::optional<Plan> plan;  // nothing for --undo
  std::string words;         // the same for people
  std::string choice;        // why it is this plan, where that needs saying
  double cache_bytes = 0;    // of the whole length in f16; 0: the file does not say
  bool gguf = true;
  bool dry_run = false;
  bool second_folder = false;  // Hugging Face: -o
};

void print_extension(const ExtendOutcome& outcome, bool json);

}  // namespace mrrope::cli

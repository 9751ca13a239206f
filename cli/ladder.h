// SPDX-License-Identifier: MIT
//
// Which rungs `mrrope ladder` makes: from what was typed to a ladder.
#pragma once

#include <string>
#include <vector>

#include "cli/input.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

struct LadderOptions {
  ModelOptions model;
  std::string method;
  std::string engine;              // --target
  std::string rungs;               // --rungs
  std::vector<std::string> plans;  // --plans
  std::vector<std::string> runs;   // --from
  std::string reserve;             // --reserve
  std::string output;              // -o
  int port = 8080;
  bool dry_run = false;
  bool json = false;
};

struct Rungs {
  Ladder ladder;
  std::vector<std::string> notes;  // for people: where an engine got another plan than the recommended one
};

// Errors carry the flag in `where`.
Result<Rungs> rungs_of(const LadderOptions& options, const ModelFile& file, const RopeSpec& spec);

}  // namespace mrrope::cli

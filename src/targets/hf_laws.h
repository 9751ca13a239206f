// SPDX-License-Identifier: MIT
//
// The rope types as one engine computes them, from what it sees of a config.
#pragma once

#include <string>
#include <vector>

#include "mrrope/methods.h"
#include "targets/hf_rules.h"
#include "targets/hf_view.h"

namespace mrrope::targets {

// Thrown where the engine fails, with its own words; caught in hf_effective.cpp.
struct Refused {
  std::string why;
};

struct Situation {
  const HfEngine& engine;
  const HfView& view;
  const GroupView& group;
  std::int64_t start = 0;  // tokens the engine is started for, and the longest sequence

  // Filled by the laws
  std::vector<std::string> notes = {};
  bool faithful = true;  // false: what is computed is no table; a note says what it is

  void note(std::string sentence) { notes.push_back(std::move(sentence)); }
};

Table linear_table(Situation& at);
Table dynamic_table(Situation& at);
Table yarn_table(Situation& at);
Table llama3_table(Situation& at);
Table longrope_table(Situation& at);

}  // namespace mrrope::targets

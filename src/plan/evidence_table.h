// SPDX-License-Identifier: MIT
//
// Made by `tools/atlas.py pages` from docs/results/atlas. A tally counts where a method was better than another one,
// worse or tied: perplexity at the longest and at the trained length by models, answers by models and kinds of prompts.
#pragma once

#include <string_view>

namespace mrrope::plan {

struct Tally {
  int better, worse, tied;
};

struct Meeting {
  double factor;
  std::string_view method, against;
  int models;
  Tally longest, trained, answers;
};

inline constexpr Meeting kMeetings[] = {
    {2, "ntk", "mrrope-pro", 1, {0, 1, 0}, {0, 0, 1}, {0, 0, 3}},
    {2, "yarn-rotations", "mrrope-pro", 1, {0, 0, 1}, {0, 1, 0}, {0, 0, 3}},
    {2, "yarn", "mrrope-pro", 1, {0, 0, 1}, {0, 0, 1}, {0, 0, 3}},
    {2, "mrrope-uni", "mrrope-pro", 1, {0, 0, 1}, {0, 0, 1}, {0, 0, 3}},
    {2, "mrrope-pro", "yarn", 1, {0, 0, 1}, {0, 0, 1}, {0, 0, 3}},
    {4, "ntk", "mrrope-pro", 2, {0, 2, 0}, {0, 0, 1}, {0, 5, 0}},
    {4, "yarn-rotations", "mrrope-pro", 2, {0, 0, 2}, {0, 0, 2}, {0, 1, 4}},
    {4, "yarn", "mrrope-pro", 3, {0, 0, 3}, {0, 0, 3}, {0, 0, 5}},
    {4, "mrrope-uni", "mrrope-pro", 3, {1, 0, 2}, {0, 0, 3}, {0, 0, 5}},
    {4, "mrrope-pro", "yarn", 3, {0, 0, 3}, {0, 0, 3}, {0, 0, 5}},
    {8, "ntk", "mrrope-pro", 1, {0, 1, 0}, {0, 0, 1}, {0, 1, 0}},
    {8, "yarn-rotations", "mrrope-pro", 1, {0, 1, 0}, {0, 1, 0}, {0, 0, 0}},
    {8, "yarn", "mrrope-pro", 1, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
    {8, "mrrope-uni", "mrrope-pro", 1, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
    {8, "mrrope-pro", "yarn", 1, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
    {16, "ntk", "mrrope-pro", 1, {0, 1, 0}, {0, 0, 0}, {0, 0, 0}},
    {16, "yarn-rotations", "mrrope-pro", 1, {0, 1, 0}, {0, 0, 0}, {0, 0, 0}},
    {16, "yarn", "mrrope-pro", 1, {0, 0, 1}, {1, 0, 0}, {0, 0, 0}},
    {16, "mrrope-uni", "mrrope-pro", 1, {0, 1, 0}, {0, 0, 0}, {0, 0, 0}},
    {16, "mrrope-pro", "yarn", 1, {0, 0, 1}, {0, 1, 0}, {0, 0, 0}},
};

}  // namespace mrrope::plan

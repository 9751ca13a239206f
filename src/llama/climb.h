// SPDX-License-Identifier: MIT
//
// The rungs of a text that climbs, as the nodes of llama.cpp's graphs want them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "llama/rotations.h"
#include "mrrope/ladder.h"
#include "mrrope/plan.h"

namespace mrrope::llama {

// A plan's tables in float32, for each layer that its spec extends.
Injection injection_of(const Plan& plan, int n_layer);

struct TableRung {
  std::int64_t length = std::numeric_limits<std::int64_t>::max();  // tokens that it holds
  Injection tables = {};                                           // none: the file as it is
};

// Rungs that have the method none are the file as it is.
std::vector<TableRung> rungs_of(const Ladder& ladder, int n_layer);

// The lowest rung that holds a text of `tokens` tokens; beyond the last: the last. Domain: at least one rung.
std::size_t rung_that_holds(std::span<const TableRung> rungs, std::int64_t tokens);

// What turns keys that were rotated by `from` into keys rotated by `to`: a key at position m by m (theta_to -
// theta_from), times the ratio of the scales. `of_file`: the nodes without a plan, whose layers do not rotate in two
// ways. The speeds are those of the float32 values in the nodes, in double; each turn rounds its difference once.
Injection turn_between(const Injection& from, const Injection& to, std::span<const nodes::NodeRotation> of_file);

// Why the cached keys of a layer could not be turned, if so.
Result<void> check_turns(std::span<const nodes::NodeRotation> of_file);

}  // namespace mrrope::llama

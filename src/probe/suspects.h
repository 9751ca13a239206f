// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "mrrope/fingerprint.h"
#include "probe/slopes.h"

namespace mrrope::probe {

// Tables nearer than this, pair by pair and in their scale, are one to everybody who serves them.
inline constexpr double kSameTable = 0.005;
bool same_table(const Plan& a, const Plan& b);

// What a server that lies `found` away from `plan` may run: the published methods, at any factor, that come nearest to
// that place, and the plan itself with another scale. No model is run for this.
std::vector<Suspect> guesses(const Suspect& from, const Directions& directions, const Slopes& found);

}  // namespace mrrope::probe

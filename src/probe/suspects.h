// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "mrrope/fingerprint.h"

namespace mrrope::probe {

// Tables nearer than this, pair by pair and in their scale, are one to everybody who serves them.
inline constexpr double kSameTable = 0.005;
bool same_table(const Plan& a, const Plan& b);
// One law at factors that lie within a quarter: one answer, with a range.
bool near(const Plan& a, const Plan& b);

// A published method at a factor.
std::optional<Suspect> suspect(const RopeSpec& spec, const Method& method, double factor);
// The same table with another attention scale, under the same name.
std::optional<Suspect> rescaled(const Suspect& one, double times);
// All laws at a suspect's factor, also those that hardly anybody serves; and, if asked for, at factors around it.
std::vector<Suspect> neighbours(const Suspect& one, bool other_factors);
// Its law and scale at another factor; nothing for laws that read none.
std::optional<Suspect> at_factor(const Suspect& one, double factor);
// What the law of a plan would multiply cos and sin by.
double scale_of_law(const Plan& plan);
// Its law at another factor, its attention scale off the law's by the same share.
std::optional<Suspect> as_much_off_at(const Suspect& one, double factor);
// Its law at factors within a fifth, whole ones among them.
std::vector<Suspect> nearest_factors(const Suspect& one);
// 4 for 3.95, 3.5 for 3.52: what people set; else as it is.
double as_people_set(double factor);

}  // namespace mrrope::probe

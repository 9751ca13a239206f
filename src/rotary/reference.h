// SPDX-License-Identifier: MIT
//
// The rotation as one would write it down: every pair by itself, in double, rounded once. The vector kernels are tested
// against it (and it against long double, tests/rotary/), and it runs where a processor has no vectors.
#pragma once

#include "rotary/job.h"

namespace mrrope::rotary {

void rotate_plainly(const Job& job);

// f16 and bf16 as numbers, to nearest even; used by tests, too.
float from_half(std::uint16_t bits);
std::uint16_t to_half(float value);
float from_bfloat(std::uint16_t bits);
std::uint16_t to_bfloat(float value);

}  // namespace mrrope::rotary

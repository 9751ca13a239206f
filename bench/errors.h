// SPDX-License-Identifier: MIT
//
// How far a rotation is from the exact one, whatever computes it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace mrrope::bench {

// Rotates one f32 head of 128 coordinates, half-split, base 10 000, per position, in place.
using Rotation = std::function<void(std::span<const std::int32_t> positions, float* heads)>;

// The largest error of a coordinate of a pair of length 1, against long double, at `count` random positions in
// 0 … last and at its end.
double largest_error(const Rotation& rotation, std::int32_t last, std::size_t count);

// A query looks at the 64 keys before it. The largest change of a score, relative to |q| |k|, when all of them move
// from the start of a text to position `start`. Exact rotations change nothing.
double score_drift(const Rotation& rotation, std::int32_t start);

}  // namespace mrrope::bench

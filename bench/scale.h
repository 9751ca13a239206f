// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace mrrope::bench {

// data[i] *= factor with the widest vectors: every byte read and written once, and nothing else. Domain: count is a
// multiple of 4 vectors.
void scale(float* data, std::size_t count, float factor);

// The same, fetching ahead as the rotation does: no rotation in place can be faster for long.
void scale_fetching(float* data, std::size_t count, float factor);

}  // namespace mrrope::bench

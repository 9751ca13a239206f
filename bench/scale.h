// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace mrrope::bench {

// data[i] *= factor with the widest vectors: every byte read and written once, and nothing else. No rotation in place
// can be faster for long.
void scale(float* data, std::size_t count, float factor);

}  // namespace mrrope::bench

// SPDX-License-Identifier: MIT
//
// Tokens shared among threads.
//
// By OpenMP, as ggml's processor backend does it: both have one pool then, and the threads that computed the layer
// before are still awake. A pool of our own would compete with ggml's waiting threads, which spin.
#pragma once

#include <cstddef>
#include <functional>

#include "mrrope/rotary.h"

namespace mrrope::plugin {

// Runs `part` on ranges that make up 0 … tokens - 1, at most `shares` of them at once and at most `n_threads`; on the
// calling thread alone if either is below 2.
void share_tokens(std::size_t tokens, std::size_t shares, int n_threads, const std::function<void(TokenRange)>& part);

}  // namespace mrrope::plugin

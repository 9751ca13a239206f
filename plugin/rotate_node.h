// SPDX-License-Identifier: MIT
//
// A ROPE node of a graph, carried out by mrrope/rotary.h.
#pragma once

#include <ggml.h>

#include "mrrope/rotary.h"

namespace mrrope::plugin {

// What keeps us from taking the node, for people; nullptr: nothing. Looks at types, shapes and parameters, at no data:
// ggml asks before there is any.
const char* obstacle(const ggml_tensor& node);

// Tokens are shared among up to n_threads; small nodes stay on the calling one.
// Domain: nothing in the way, all tensors in this process's memory, table.pairs() the node's.
void rotate_node(const ggml_tensor& node, const RotaryTable& table, int n_threads);

}  // namespace mrrope::plugin

// SPDX-License-Identifier: MIT
//
// A ROPE node of a graph, carried out by mrrope/rotary.h.
#pragma once

#include <ggml.h>

#include <span>
#include <vector>

#include "mrrope/rotary.h"

namespace mrrope::plugin {

// What keeps us from taking the node, for people; nullptr: nothing. Looks at types, shapes and parameters, at no data:
// ggml asks before there is any.
const char* obstacle(const ggml_tensor& node);

// A table as a node turns by it.
struct NodeTable {
  RotaryTable whole;  // of a token with one position
  // M-RoPE, for tokens of pictures: per section, its pairs turn and the others stand still; the first of them has the
  // attention scale. In `whole`, pairs of the extra position stand still, as llama.cpp has it for text. Empty: every
  // token has one position.
  std::vector<RotaryTable> sections = {};
};

// Domain: that of RotaryTable; nothing in the way of the node.
NodeTable node_table(const ggml_tensor& node, std::span<const double> inv_freq, double attention_scale);

// Tokens are shared among up to n_threads; small nodes stay on the calling one. Text costs the same with and without
// sections, a token of a picture four times as much.
// Domain: nothing in the way, all tensors in this process's memory, the table one for this node.
void rotate_node(const ggml_tensor& node, const NodeTable& table, int n_threads);

}  // namespace mrrope::plugin

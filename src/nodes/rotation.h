// SPDX-License-Identifier: MIT
//
// One rotation of a running graph, as ggml_rope_ext wrote it into the node (ggml.c, ggml_rope_impl), and the table it
// amounts to.
#pragma once

#include <ggml.h>

#include <vector>

#include "mrrope/rotation.h"

namespace mrrope::nodes {

// Indices into op_params; the member is public, the order is not documented. tests/llama holds them to account.
enum RopeParam : int {
  kRopeDims = 1,
  kRopeMode = 2,
  kRopeContext = 4,
  kRopeBase = 5,
  kRopeScale = 6,
  kRopeExtrapolation = 7,
  kRopeMagnitude = 8,
  kRopeBetaFast = 9,
  kRopeBetaSlow = 10,
  kRopeSections = 11,  // four of them: pairs that turn by time, height, width and the extra position
  kRopeOffset = 15,    // of the first dimension that rotates
};
static_assert(GGML_MAX_OP_PARAMS == 64, "another ggml: look at ggml_rope_impl again");

int rope_mode(const ggml_tensor& node);
// Coordinate i turns with i + dims/2; else with its neighbour. M-RoPE turns halves, too.
bool turns_halves(const ggml_tensor& node);
// Several positions per token (M-RoPE): all those of time, then of height, of width, and the extra ones. Of text the
// first three are the same, and llama.cpp makes the fourth 0.
bool has_sections(const ggml_tensor& node);
inline constexpr int kSections = GGML_MROPE_SECTIONS;
// Which of them a pair turns by. Domain: has_sections().
int section_of(const ggml_tensor& node, int pair);
float float_param(const ggml_tensor& node, RopeParam index);
void set_float_param(ggml_tensor& node, RopeParam index, float value);

struct NodeRotation {
  int layer = -1;  // -1: nothing in the graph says so
  int dims = 0;
  int mode = 0;  // which coordinates make a pair: rope_mode()
  int context = 0;
  float base = 0, scale = 1, extrapolation = 0, magnitude = 1, beta_fast = 0, beta_slow = 0;
  std::vector<float> factors;  // empty: none; else at least dims/2
  std::vector<int> still;      // pairs that turn by M-RoPE's extra position: not at all, of text

  bool operator==(const NodeRotation&) const = default;
};

// Reads the factors from the device the node runs on.
NodeRotation read_node(const ggml_tensor& node, int layer);

// theta_i = base^(-i/n) / factor_i, then linear scaling or YaRN's blend of it; magnitude likewise
// (ggml-cpu/ops.cpp, rope_yarn). In double, from the float32 values of the node.
Rotation table_of(const NodeRotation& node);

// Layers that rotate alike, together, in the order of their first layer.
std::vector<Rotation> group_by_table(const std::vector<NodeRotation>& nodes);

}  // namespace mrrope::nodes

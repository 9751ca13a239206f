// SPDX-License-Identifier: MIT
//
// Which layer of a model a rotation of its graph belongs to. No field of a node says so; names do.
#pragma once

#include <ggml.h>

namespace mrrope::nodes {

struct NodePlace {
  int layer = -1;         // -1: nothing in the graph says so
  bool in_cache = false;  // moves keys that are rotated already, to another position (a context shift)
};

NodePlace place_of(const ggml_tensor& node);

}  // namespace mrrope::nodes

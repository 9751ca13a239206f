// SPDX-License-Identifier: MIT
//
// Which layer of a model a rotation of its graph belongs to. No field of a node says so; names do.
#pragma once

#include <ggml.h>

namespace mrrope::nodes {

struct NodePlace {
  int layer = -1;                      // -1: nothing in the graph says so
  const ggml_tensor* cache = nullptr;  // it moves keys that are rotated already (a context shift): where they lie
};

NodePlace place_of(const ggml_tensor& node);

// Of a SET_ROWS: the cache of keys that it writes to; nothing if it is none.
NodePlace place_of_cache(const ggml_tensor& set_rows);

// Whether what a SET_ROWS writes is the result of a rotation, moved about and not otherwise changed: then another
// rotation of what was written is as good as another rotation before. False for models that normalise keys after they
// rotated them. True where nothing rotates.
bool writes_what_was_rotated(const ggml_tensor& set_rows);

}  // namespace mrrope::nodes

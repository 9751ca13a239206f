// SPDX-License-Identifier: MIT
//
// Which table a rotation of the graph uses: that of the plan for layers it extends, else what the node itself asks for
// (base, factors, linear scaling, YaRN), computed in double from its float32 parameters.
#pragma once

#include <ggml.h>

#include <array>
#include <cstdint>
#include <vector>

#include "mrrope/plan.h"
#include "nodes/layer.h"
#include "plugin/rotate_node.h"

namespace mrrope::plugin {

// Of one context: not to be used by two threads at once.
class Tables {
 public:
  explicit Tables(const Plan* plan) : plan_(plan) {}  // nullptr: none; else it outlives this

  // Valid until the next call. Keys in a cache are moved without the attention scale, which is on them already
  // (llama.cpp multiplies it again with every shift). Error: parameters that give no table.
  // Domain: a node that obstacle() has nothing against, its factors in memory; with a plan: one that fits it.
  Result<const NodeTable*> table_for(const ggml_tensor& node, nodes::NodePlace place, bool by_plan);

 private:
  // A table and the same with attention scale 1.
  struct Pair {
    NodeTable fresh, moved;
  };
  // What a table was made for.
  struct Cause {
    int group = -1;  // of the plan; -1: the node's own table
    std::array<std::int32_t, GGML_MAX_OP_PARAMS / sizeof(std::int32_t)> params = {};
    std::vector<float> factors = {};  // of the node's own table

    bool operator==(const Cause&) const = default;
  };
  struct Known {
    Cause cause;
    Pair tables;
  };

  Result<const Pair*> pair_for(const ggml_tensor& node, int group);

  const Plan* plan_;
  std::vector<Known> known_;  // a model has one or two
};

}  // namespace mrrope::plugin

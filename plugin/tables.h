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
#include "mrrope/rotary.h"
#include "nodes/layer.h"

namespace mrrope::plugin {

// Of one context: not to be used by two threads at once.
class Tables {
 public:
  explicit Tables(const Plan* plan);  // nullptr: none; else it outlives this

  // Valid until the next call. Keys in a cache are moved without the attention scale, which is on them already
  // (llama.cpp multiplies it again with every shift). Error: parameters that give no table.
  // Domain: a node that obstacle() has nothing against, its factors in memory; with a plan: one that fits it.
  Result<const RotaryTable*> table_for(const ggml_tensor& node, nodes::NodePlace place, bool by_plan);

 private:
  // A table and the same with attention scale 1.
  struct Pair {
    RotaryTable fresh, moved;
  };
  struct Own {
    std::array<std::int32_t, GGML_MAX_OP_PARAMS / sizeof(std::int32_t)> params;
    std::vector<float> factors;
    Pair tables;
  };

  static Pair make_pair(const std::vector<double>& inv_freq, double attention_scale);
  Result<const Pair*> own(const ggml_tensor& node);

  const Plan* plan_;
  std::vector<Pair> of_plan_;  // one per group
  std::vector<Own> own_;       // a model has one or two
};

}  // namespace mrrope::plugin

// SPDX-License-Identifier: MIT
#include "plugin/tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nodes/plan_fit.h"
#include "nodes/rotation.h"

namespace mrrope::plugin {

Result<const NodeTable*> Tables::table_for(const ggml_tensor& node, nodes::NodePlace place, bool by_plan) {
  const int group = by_plan ? nodes::extended_group_of(plan_->spec, place.layer) : -1;
  const Result<const Pair*> pair = pair_for(node, group);
  if (!pair) return pair.error();
  return place.cache != nullptr ? &(*pair)->moved : &(*pair)->fresh;
}

// Compared on every call, because a context may be given other factors under the same address.
Result<const Tables::Pair*> Tables::pair_for(const ggml_tensor& node, int group) {
  Cause cause{.group = group};
  std::copy(std::begin(node.op_params), std::end(node.op_params), cause.params.begin());
  if (group < 0 && node.src[2] != nullptr) {
    const auto* factors = static_cast<const float*>(node.src[2]->data);
    cause.factors.assign(factors, factors + node.op_params[nodes::kRopeDims] / 2);
  }
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.cause == cause; });
  if (found != known_.end()) return &found->tables;

  Rotation rotation;
  if (group < 0) {
    rotation = nodes::table_of(nodes::read_node(node, 0));
  } else {
    const GroupPlan& planned = plan_->groups[static_cast<std::size_t>(group)];
    rotation.inv_freq = planned.inv_freq;
    rotation.attention_scale = planned.attention_scale;
  }
  const bool usable = std::isfinite(rotation.attention_scale) && rotation.attention_scale > 0 &&
                      std::all_of(rotation.inv_freq.begin(), rotation.inv_freq.end(),
                                  [](double speed) { return std::isfinite(speed) && speed >= 0; });
  if (!usable) {
    return Error{ErrorCode::unsupported, "a layer asks for a rotation by angles that are no numbers, or backwards", ""};
  }
  constexpr std::size_t kMost = 64;  // somebody who changes parameters all the time must not fill the memory
  if (known_.size() == kMost) known_.clear();
  known_.push_back(
      {std::move(cause),
       {node_table(node, rotation.inv_freq, rotation.attention_scale), node_table(node, rotation.inv_freq, 1)}});
  return &known_.back().tables;
}

}  // namespace mrrope::plugin

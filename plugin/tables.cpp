// SPDX-License-Identifier: MIT
#include "plugin/tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "nodes/plan_fit.h"
#include "nodes/rotation.h"

namespace mrrope::plugin {

Tables::Pair Tables::make_pair(const std::vector<double>& inv_freq, double attention_scale) {
  return {RotaryTable(inv_freq, attention_scale), RotaryTable(inv_freq)};
}

Tables::Tables(const Plan* plan) : plan_(plan) {
  if (plan == nullptr) return;
  for (const GroupPlan& group : plan->groups) of_plan_.push_back(make_pair(group.inv_freq, group.attention_scale));
}

Result<const RotaryTable*> Tables::table_for(const ggml_tensor& node, nodes::NodePlace place, bool by_plan) {
  const Pair* pair = nullptr;
  const int group = by_plan ? nodes::extended_group_of(plan_->spec, place.layer) : -1;
  if (group >= 0) {
    pair = &of_plan_[static_cast<std::size_t>(group)];
  } else {
    const Result<const Pair*> found = own(node);
    if (!found) return found.error();
    pair = *found;
  }
  return place.in_cache ? &pair->moved : &pair->fresh;
}

// Compared on every call, because a context may be given other factors under the same address.
Result<const Tables::Pair*> Tables::own(const ggml_tensor& node) {
  const auto* factors = node.src[2] == nullptr ? nullptr : static_cast<const float*>(node.src[2]->data);
  const auto pairs = static_cast<std::size_t>(node.op_params[nodes::kRopeDims] / 2);
  for (const Own& known : own_) {
    if (std::memcmp(known.params.data(), node.op_params, sizeof node.op_params) != 0) continue;
    if (factors == nullptr ? known.factors.empty()
                           : std::equal(known.factors.begin(), known.factors.end(), factors, factors + pairs)) {
      return &known.tables;
    }
  }

  const Rotation rotation = nodes::table_of(nodes::read_node(node, 0));
  const bool usable = std::isfinite(rotation.attention_scale) && rotation.attention_scale > 0 &&
                      std::all_of(rotation.inv_freq.begin(), rotation.inv_freq.end(),
                                  [](double speed) { return std::isfinite(speed) && speed >= 0; });
  if (!usable) {
    return Error{ErrorCode::unsupported, "a layer asks for a rotation by angles that are no numbers, or backwards", ""};
  }
  constexpr std::size_t kMost = 64;  // somebody who changes parameters all the time must not fill the memory
  if (own_.size() == kMost) own_.clear();
  Own own{{}, {}, make_pair(rotation.inv_freq, rotation.attention_scale)};
  std::memcpy(own.params.data(), node.op_params, sizeof node.op_params);
  if (factors != nullptr) own.factors.assign(factors, factors + pairs);
  own_.push_back(std::move(own));
  return &own_.back().tables;
}

}  // namespace mrrope::plugin

// SPDX-License-Identifier: MIT
#include "nodes/rotation.h"

#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace mrrope::nodes {

int rope_mode(const ggml_tensor& node) { return node.op_params[kRopeMode]; }

float float_param(const ggml_tensor& node, RopeParam index) {
  float value = 0;
  std::memcpy(&value, &node.op_params[index], sizeof value);
  return value;
}

void set_float_param(ggml_tensor& node, RopeParam index, float value) {
  std::memcpy(&node.op_params[index], &value, sizeof value);
}

NodeRotation read_node(const ggml_tensor& node, int layer) {
  NodeRotation out;
  out.layer = layer;
  out.dims = node.op_params[kRopeDims];
  out.context = node.op_params[kRopeContext];
  out.base = float_param(node, kRopeBase);
  out.scale = float_param(node, kRopeScale);
  out.extrapolation = float_param(node, kRopeExtrapolation);
  out.magnitude = float_param(node, kRopeMagnitude);
  out.beta_fast = float_param(node, kRopeBetaFast);
  out.beta_slow = float_param(node, kRopeBetaSlow);
  if (const ggml_tensor* factors = node.src[2]; factors != nullptr) {
    out.factors.resize(static_cast<std::size_t>(out.dims / 2));
    ggml_backend_tensor_get(factors, out.factors.data(), 0, out.factors.size() * sizeof(float));
  }
  return out;
}

Rotation table_of(const NodeRotation& node) {
  Rotation out;
  out.layers = {node.layer};
  out.rotary_dim = node.dims;
  out.attention_scale = node.magnitude;
  std::array<float, 2> ends{};  // pairs between which YaRN blends
  const bool yarn = node.extrapolation != 0;
  if (yarn) {
    ggml_rope_yarn_corr_dims(node.dims, node.context, node.base, node.beta_fast, node.beta_slow, ends.data());
    out.attention_scale *= 1 + 0.1 * std::log(1 / static_cast<double>(node.scale));
  }
  const int pairs = node.dims / 2;
  for (int i = 0; i < pairs; ++i) {
    double speed = std::pow(static_cast<double>(node.base), -static_cast<double>(i) / pairs);
    if (!node.factors.empty()) speed /= node.factors[static_cast<std::size_t>(i)];
    double mix = 0;  // 1: as trained, 0: interpolated
    if (yarn) {
      const double ramp = (i - static_cast<double>(ends[0])) / std::max(0.001, static_cast<double>(ends[1]) - ends[0]);
      mix = node.extrapolation * (1 - std::clamp(ramp, 0.0, 1.0));
    }
    out.inv_freq.push_back(speed * (node.scale * (1 - mix) + mix));
  }
  return out;
}

std::vector<Rotation> group_by_table(const std::vector<NodeRotation>& nodes) {
  std::vector<NodeRotation> kinds;  // layer 0 in all of them, so that == compares the rest
  std::vector<Rotation> groups;
  for (const NodeRotation& node : nodes) {
    NodeRotation kind = node;
    kind.layer = 0;
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    if (found == kinds.end()) {
      kinds.push_back(std::move(kind));
      groups.push_back(table_of(node));
      continue;
    }
    std::vector<int>& layers = groups[static_cast<std::size_t>(found - kinds.begin())].layers;
    const auto place = std::lower_bound(layers.begin(), layers.end(), node.layer);
    if (place == layers.end() || *place != node.layer) layers.insert(place, node.layer);
  }
  return groups;
}

}  // namespace mrrope::nodes

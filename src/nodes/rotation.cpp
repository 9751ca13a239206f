// SPDX-License-Identifier: MIT
#include "nodes/rotation.h"

#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace mrrope::nodes {

int rope_mode(const ggml_tensor& node) { return node.op_params[kRopeMode]; }

bool turns_halves(const ggml_tensor& node) { return rope_mode(node) != GGML_ROPE_TYPE_NORMAL; }

bool has_sections(const ggml_tensor& node) { return (rope_mode(node) & GGML_ROPE_TYPE_MROPE) != 0; }

// ggml-cpu/ops.cpp, ggml_mrope_cache_init. Interleaved (IMROPE), a section that is shorter than its share of the pairs
// leaves the rest of them to the extra position.
int section_of(const ggml_tensor& node, int pair) {
  std::array<std::int64_t, kSections> sections{};
  std::copy_n(node.op_params + kRopeSections, kSections, sections.begin());
  const std::int64_t period = std::accumulate(sections.begin(), sections.end(), std::int64_t{0});
  if (period <= 0) return 0;  // ggml ends the program when it gets there
  const auto sector = static_cast<std::size_t>(pair % period);
  constexpr std::size_t extra = kSections - 1;
  if (rope_mode(node) == GGML_ROPE_TYPE_IMROPE) {
    return static_cast<int>(static_cast<std::int64_t>(sector) < 3 * sections[sector % 3] ? sector % 3 : extra);
  }
  std::size_t section = 0;
  std::int64_t end = sections[0];
  while (section < extra && static_cast<std::int64_t>(sector) >= end) end += sections[++section];
  return static_cast<int>(section);
}

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
  out.mode = rope_mode(node);
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
  if (has_sections(node)) {
    for (int i = 0; i < out.dims / 2; ++i) {
      if (section_of(node, i) == kSections - 1) out.still.push_back(i);
    }
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

// SPDX-License-Identifier: MIT
#include "plugin/rotate_node.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "mrrope/spec.h"
#include "nodes/rotation.h"
#include "plugin/threads.h"

namespace mrrope::plugin {

namespace {

using nodes::float_param;

// A share below which waking a thread costs more than it saves: 256 KiB of f32, some 15 µs.
constexpr std::size_t kShare = std::size_t{1} << 16U;

// Strides are whole elements, and the coordinates of a head lie side by side.
bool strides_fit(const ggml_tensor& tensor) {
  const std::size_t size = ggml_type_size(tensor.type);
  return tensor.nb[0] == size && tensor.nb[1] % size == 0 && tensor.nb[2] % size == 0 && tensor.nb[3] % size == 0;
}

HeadShape shape_of(const ggml_tensor& tensor, const ggml_tensor& node) {
  const std::size_t size = ggml_type_size(tensor.type);
  return {.type = tensor.type == GGML_TYPE_F32 ? ElementType::f32 : ElementType::f16,
          .layout = nodes::turns_halves(node) ? PairLayout::half_split : PairLayout::interleaved,
          .heads = static_cast<std::size_t>(node.ne[1]),
          .head_dim = static_cast<std::size_t>(node.ne[0] - node.op_params[nodes::kRopeOffset]),
          .head_stride = tensor.nb[1] / size,
          .token_stride = tensor.nb[2] / size};
}

// The coordinates before the rotated ones, of some tokens.
void copy_front(const ggml_tensor& node, const std::byte* from, std::byte* to, std::size_t front, TokenRange tokens) {
  const ggml_tensor& source = *node.src[0];
  for (std::size_t token = tokens.first; token < tokens.last; ++token) {
    for (std::size_t head = 0; head < static_cast<std::size_t>(node.ne[1]); ++head) {
      std::memcpy(to + token * node.nb[2] + head * node.nb[1], from + token * source.nb[2] + head * source.nb[1],
                  front);
    }
  }
}

// The sections are as ggml wants them.
bool sections_fit(const ggml_tensor& node) {
  const std::int32_t* sections = node.op_params + nodes::kRopeSections;
  std::int64_t sum = 0;
  for (int s = 0; s < nodes::kSections; ++s) {
    if (sections[s] < 0) return false;
    sum += sections[s];
  }
  return sum > 0 && sum <= node.ne[0];
}

// One sequence of a node, from one place to another.
struct Vectors {
  const std::byte* read;
  HeadShape from;
  std::byte* write;
  HeadShape to;
};

// `positions`: as in the node, time, height, width and extra one behind the other.
void rotate_sections(const NodeTable& table, std::span<const std::int32_t> positions, const Vectors& v,
                     TokenRange tokens) {
  const std::size_t count = positions.size() / nodes::kSections;
  const auto of_section = [&](std::size_t s) { return positions.subspan(s * count, count); };
  const auto is_text = [&](std::size_t t) {
    const std::int32_t time = positions[t];
    return positions[count + t] == time && positions[2 * count + t] == time && positions[3 * count + t] == 0;
  };
  for (std::size_t first = tokens.first, last = first; first < tokens.last; first = last) {
    const bool text = is_text(first);
    while (last < tokens.last && is_text(last) == text) ++last;
    const TokenRange run{.first = first, .last = last};
    apply_rotary(text ? table.whole : table.sections[0], of_section(0), v.read, v.from, v.write, v.to, run);
    for (std::size_t s = 1; !text && s < table.sections.size(); ++s) {
      apply_rotary(table.sections[s], of_section(s), v.write, v.to, run);
    }
  }
}

}  // namespace

NodeTable node_table(const ggml_tensor& node, std::span<const double> inv_freq, double attention_scale) {
  if (!nodes::has_sections(node)) return {RotaryTable(inv_freq, attention_scale)};
  const auto only = [&](auto wanted, double scale) {
    std::vector<double> speeds(inv_freq.begin(), inv_freq.end());
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      if (!wanted(nodes::section_of(node, static_cast<int>(i)))) speeds[i] = 0;
    }
    return RotaryTable(speeds, scale);
  };
  NodeTable out{only([](int section) { return section != nodes::kSections - 1; }, attention_scale)};
  for (int s = 0; s < nodes::kSections; ++s) {
    out.sections.push_back(only([s](int section) { return section == s; }, s == 0 ? attention_scale : 1));
  }
  return out;
}

const char* obstacle(const ggml_tensor& node) {
  if (node.op != GGML_OP_ROPE) return "it turns vectors back";
  const ggml_tensor* source = node.src[0];
  const ggml_tensor* positions = node.src[1];
  const ggml_tensor* factors = node.src[2];
  const std::int32_t mode = node.op_params[nodes::kRopeMode];
  const bool sectioned = mode == GGML_ROPE_TYPE_MROPE || mode == GGML_ROPE_TYPE_IMROPE;
  if (!sectioned && mode != GGML_ROPE_TYPE_NORMAL && mode != GGML_ROPE_TYPE_NEOX) {
    return "it is that of a vision tower, or of a kind that is not known";
  }
  if (sectioned && !sections_fit(node)) return "its sections (M-RoPE) do not fit its heads";
  if ((node.type != GGML_TYPE_F32 && node.type != GGML_TYPE_F16) || source->type != node.type) {
    return "its vectors are neither f32 nor f16";
  }
  if (!strides_fit(node) || !strides_fit(*source)) return "its coordinates do not lie side by side";
  const std::int64_t per_token = sectioned ? nodes::kSections : 1;
  if (positions->type != GGML_TYPE_I32 || positions->nb[0] != sizeof(std::int32_t) ||
      positions->ne[0] < per_token * node.ne[2]) {
    return "its positions are no list of 32-bit integers, one per token (M-RoPE: four)";
  }
  const std::int32_t dims = node.op_params[nodes::kRopeDims];
  const std::int32_t offset = node.op_params[nodes::kRopeOffset];
  if (dims < 2 || dims % 2 != 0 || dims > kMaxRotaryDim || offset < 0 || offset + std::int64_t{dims} > node.ne[0]) {
    return "the dimensions it rotates are not those of a head";
  }
  if (factors != nullptr &&
      (factors->type != GGML_TYPE_F32 || factors->nb[0] != sizeof(float) || factors->ne[0] < dims / 2)) {
    return "its factors are no list of f32, one per pair";
  }
  const float base = float_param(node, nodes::kRopeBase);
  const float magnitude = float_param(node, nodes::kRopeMagnitude);
  if (!std::isfinite(base) || base <= 0 || !std::isfinite(magnitude) || magnitude <= 0) {
    return "its base or its magnitude is no positive number";
  }
  return nullptr;
}

void rotate_node(const ggml_tensor& node, const NodeTable& table, int n_threads) {
  const ggml_tensor& source = *node.src[0];
  const auto tokens = static_cast<std::size_t>(node.ne[2]);
  const std::size_t per_token = std::max<std::size_t>(1, table.sections.size());
  const std::span positions(static_cast<const std::int32_t*>(node.src[1]->data), per_token * tokens);
  const HeadShape from = shape_of(source, node);
  const HeadShape to = shape_of(node, node);
  const std::size_t front = static_cast<std::size_t>(node.op_params[nodes::kRopeOffset]) * node.nb[0];
  const std::size_t work = tokens * to.heads * to.head_dim;
  share_tokens(tokens, work / kShare, n_threads, [&](TokenRange range) {
    for (std::int64_t sequence = 0; sequence < node.ne[3]; ++sequence) {
      const auto* read = static_cast<const std::byte*>(source.data) + static_cast<std::size_t>(sequence) * source.nb[3];
      auto* write = static_cast<std::byte*>(node.data) + static_cast<std::size_t>(sequence) * node.nb[3];
      if (front > 0 && read != write) copy_front(node, read, write, front, range);
      const Vectors vectors{read + front, from, write + front, to};
      if (per_token > 1) rotate_sections(table, positions, vectors, range);
      else apply_rotary(table.whole, positions, vectors.read, from, vectors.write, to, range);
    }
  });
}

}  // namespace mrrope::plugin

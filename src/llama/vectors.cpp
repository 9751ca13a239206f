// SPDX-License-Identifier: MIT
//
// Queries and keys as they were before their rotation: read after it, because ggml may rotate in place, and turned
// back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "llama/context_impl.h"

namespace mrrope {

namespace {

using llama::RotatedNode;

std::vector<std::complex<float>> turned_back(const RotatedNode& node) {
  const Rotation table = nodes::table_of(node.rotation);
  const auto pairs = static_cast<std::size_t>(node.rotation.dims / 2);
  const auto heads = static_cast<std::size_t>(node.heads);
  const auto head_dim = static_cast<std::size_t>(node.head_dim);
  const std::size_t tokens = node.values.size() / (heads * head_dim);
  std::vector<std::complex<float>> out(tokens * heads * pairs);
  std::vector<std::complex<double>> turn(pairs);
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      turn[i] = std::polar(1 / table.attention_scale, -static_cast<double>(t) * table.inv_freq[i]);
    }
    for (const int i : node.rotation.still) turn[static_cast<std::size_t>(i)] = 1 / table.attention_scale;
    for (std::size_t h = 0; h < heads; ++h) {
      const float* x = node.values.data() + (t * heads + h) * head_dim;
      for (std::size_t i = 0; i < pairs; ++i) {
        const std::complex<double> z =
            node.halves ? std::complex<double>(x[i], x[i + pairs]) : std::complex<double>(x[2 * i], x[2 * i + 1]);
        out[(t * heads + h) * pairs + i] = std::complex<float>(z * turn[i]);
      }
    }
  }
  return out;
}

}  // namespace

Result<std::vector<LayerVectors>> LlamaContext::read_vectors(std::span<const Token> tokens,
                                                             std::span<const int> layers) {
  if (impl_->rungs.size() > 1) {
    return Error{ErrorCode::unsupported, "a text that climbs has several tables: read its vectors under one plan", ""};
  }
  clear();
  impl_->rotations.keep({layers.begin(), layers.end()});
  const Result<void> decoded = decode(tokens, {.logits_from = tokens.size()});
  const std::vector<RotatedNode> kept = impl_->rotations.kept();
  impl_->rotations.keep({});
  if (!decoded) return decoded.error();

  std::vector<LayerVectors> out;
  for (const int layer : layers) {
    const auto find = [&](bool query) {
      return std::find_if(kept.begin(), kept.end(),
                          [&](const RotatedNode& n) { return n.rotation.layer == layer && n.query == query; });
    };
    const auto query = find(true);
    const auto key = find(false);
    if (query == kept.end() || key == kept.end() || query->rotation.dims != key->rotation.dims ||
        query->heads % std::max(1, key->heads) != 0) {
      return Error{ErrorCode::unsupported, fmt::format("layer {} does not rotate queries and keys alike", layer), "",
                   "layers"};
    }
    out.push_back({.layer = layer,
                   .pairs = query->rotation.dims / 2,
                   .head_dim = query->head_dim,
                   .query_heads = query->heads,
                   .key_heads = key->heads,
                   .queries = turned_back(*query),
                   .keys = turned_back(*key)});
  }
  return out;
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "nodes/layer.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace mrrope::nodes {

namespace {

// The number that starts at `text`, or -1.
int number_at(const char* text) {
  if (std::isdigit(static_cast<unsigned char>(*text)) == 0) return -1;
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

// llama.cpp calls what layer 3 computes "Qcur-3", "Qcur-3 (view)", "RPC0#Qcur-3#0", its weights "blk.3.attn_q.weight",
// and its keys in the cache "cache_k_l3", "cache_idx_k_l3 (view)".
NodePlace place_in_name(const ggml_tensor& tensor) {
  if (const char* block = std::strstr(tensor.name, "blk."); block != nullptr) return {.layer = number_at(block + 4)};
  if (const char* cache = std::strstr(tensor.name, "cache_"); cache != nullptr) {
    const char* keys = std::strstr(cache, "k_l");
    return keys == nullptr ? NodePlace{} : NodePlace{.layer = number_at(keys + 3), .in_cache = true};
  }
  const char* dash = std::strrchr(tensor.name, '-');
  return {.layer = dash == nullptr ? -1 : number_at(dash + 1)};
}

const ggml_tensor* origin_of(const ggml_tensor& tensor) {
  return tensor.src[0] != nullptr ? tensor.src[0] : tensor.view_src;
}

}  // namespace

// A rotation often has no name; then what it is made of has one: blk.3.attn_q.weight -> product -> reshaped -> rotated.
NodePlace place_of(const ggml_tensor& node) {
  constexpr int kSteps = 16;  // far more than any architecture has in between
  const ggml_tensor* tensor = &node;
  const ggml_tensor* other = nullptr;
  for (int step = 0; tensor != nullptr && step < kSteps; ++step) {
    if (const NodePlace place = place_in_name(*tensor); place.layer >= 0) return place;
    // The product of a matrix without a name: quantised keys are multiplied by one before and after they move
    if (tensor->op == GGML_OP_MUL_MAT && other == nullptr) other = tensor->src[1];
    tensor = origin_of(*tensor);
    if (tensor == nullptr) tensor = std::exchange(other, nullptr);
  }
  return {};
}

}  // namespace mrrope::nodes

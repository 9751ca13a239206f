// SPDX-License-Identifier: MIT
#include "nodes/layer.h"

#include <ggml-backend.h>

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

// The tensor that a view shows, or that a copy in another type was made of: quantised keys are rotated in float32.
const ggml_tensor* memory_of(const ggml_tensor& tensor) {
  const ggml_tensor* memory = &tensor;
  while (memory->view_src != nullptr || memory->op == GGML_OP_CPY) {
    memory = memory->view_src != nullptr ? memory->view_src : memory->src[0];
  }
  return memory;
}

// llama.cpp calls what layer 3 computes "Qcur-3", "Qcur-3 (view)", "RPC0#Qcur-3#0", its weights "blk.3.attn_q.weight",
// and its keys in the cache "cache_k_l3", "cache_idx_k_l3 (view)".
NodePlace place_in_name(const ggml_tensor& tensor) {
  if (const char* block = std::strstr(tensor.name, "blk."); block != nullptr) return {.layer = number_at(block + 4)};
  if (const char* cache = std::strstr(tensor.name, "cache_"); cache != nullptr) {
    const char* keys = std::strstr(cache, "k_l");
    return keys == nullptr ? NodePlace{} : NodePlace{.layer = number_at(keys + 3), .cache = memory_of(tensor)};
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

NodePlace place_of_cache(const ggml_tensor& set_rows) {
  const NodePlace place = place_in_name(set_rows);
  return place.cache != nullptr && place.layer >= 0 ? place : NodePlace{};
}

namespace {

bool is_weight(const ggml_tensor& tensor) {
  const ggml_tensor& owner = tensor.view_src != nullptr ? *tensor.view_src : tensor;
  return owner.buffer != nullptr && ggml_backend_buffer_get_usage(owner.buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

enum class Found { rotation, changed_rotation, none };

Found rotation_before(const ggml_tensor* tensor, bool changed, int steps) {
  if (tensor == nullptr || steps == 0) return Found::none;
  switch (tensor->op) {
    case GGML_OP_ROPE: return changed ? Found::changed_rotation : Found::rotation;
    case GGML_OP_VIEW:
    case GGML_OP_RESHAPE:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
    case GGML_OP_CONT:
    case GGML_OP_CPY:
    case GGML_OP_DUP:
    case GGML_OP_PAD:
    case GGML_OP_REPEAT:
    case GGML_OP_SCALE: return rotation_before(tensor->src[0], changed, steps - 1);
    case GGML_OP_CONCAT: {
      const Found first = rotation_before(tensor->src[0], changed, steps - 1);
      return first != Found::none ? first : rotation_before(tensor->src[1], changed, steps - 1);
    }
    case GGML_OP_MUL_MAT:  // by weights: before any rotation; by the matrix that quantised keys want
      if (is_weight(*tensor->src[0])) return Found::none;
      return rotation_before(tensor->src[1], changed, steps - 1);
    case GGML_OP_NORM:
    case GGML_OP_RMS_NORM:
    case GGML_OP_L2_NORM:
    case GGML_OP_ADD:
    case GGML_OP_MUL: return rotation_before(tensor->src[0], true, steps - 1);
    default: return Found::none;
  }
}

}  // namespace

bool writes_what_was_rotated(const ggml_tensor& set_rows) {
  constexpr int kSteps = 16;
  return rotation_before(set_rows.src[0], false, kSteps) != Found::changed_rotation;
}

}  // namespace mrrope::nodes

// SPDX-License-Identifier: MIT
#include "llama/rotations.h"

#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <utility>

#include "mrrope/spec.h"
#include "nodes/layer.h"

namespace mrrope::llama {

namespace {

// The kernels fill their tables up to the head's size, also where fewer dimensions rotate: the copy is longer than the
// table and goes on with 1.
ggml_tensor* copy_for(const ggml_tensor& node, InjectedTable& table) {
  const ggml_tensor& owner = node.view_src != nullptr ? *node.view_src : node;
  if (owner.buffer == nullptr || node.ne[0] > kMaxRotaryDim) return nullptr;
  ggml_backend_buffer_type_t type = ggml_backend_buffer_get_type(owner.buffer);
  if (const auto found = table.copies.find(type); found != table.copies.end()) return found->second.tensor;

  InjectedTable::Copy copy;
  copy.context.reset(ggml_init({ggml_tensor_overhead(), nullptr, true}));
  if (!copy.context) return nullptr;
  copy.tensor = ggml_new_tensor_1d(copy.context.get(), GGML_TYPE_F32, kMaxRotaryDim / 2);
  copy.buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(copy.context.get(), type));
  if (!copy.buffer) return nullptr;
  std::vector<float> values = table.factors;
  values.resize(kMaxRotaryDim / 2, 1.0F);
  ggml_backend_tensor_set(copy.tensor, values.data(), 0, values.size() * sizeof(float));
  return table.copies.emplace(type, std::move(copy)).first->second.tensor;
}

}  // namespace

bool Rotations::on_node(ggml_tensor* node, bool ask, void* user_data) {
  Rotations& self = *static_cast<Rotations*>(user_data);
  if (!ask) {
    if (self.stopped_) return false;
    self.store(*node);
    return true;
  }
  if (self.cancel_.load(std::memory_order_relaxed)) {
    self.stopped_ = true;
    return true;
  }
  // ROPE_BACK: DeepSeek V4 turns what attention found back by the same angles.
  if (node->op != GGML_OP_ROPE && node->op != GGML_OP_ROPE_BACK) return false;
  self.visit(*node);
  const nodes::NodePlace place = nodes::place_of(*node);
  return !place.in_cache &&
         std::find(self.layers_kept_.begin(), self.layers_kept_.end(), place.layer) != self.layers_kept_.end();
}

void Rotations::keep(std::vector<int> layers) {
  layers_kept_ = std::move(layers);
  kept_.clear();
}

void Rotations::store(const ggml_tensor& node) {
  const char first = node.name[0];
  if ((first != 'Q' && first != 'q' && first != 'K' && first != 'k') || node.type != GGML_TYPE_F32 ||
      !ggml_is_contiguous(&node)) {
    return fail(ErrorCode::unsupported, fmt::format("what {} rotates is not plainly queries or keys", node.name));
  }
  const bool query = first == 'Q' || first == 'q';
  const int layer = nodes::place_of(node).layer;
  auto found = std::find_if(kept_.begin(), kept_.end(),
                            [&](const RotatedNode& k) { return k.rotation.layer == layer && k.query == query; });
  if (found == kept_.end()) {
    RotatedNode fresh{.rotation = nodes::read_node(node, layer),
                      .query = query,
                      .halves = nodes::turns_halves(node),
                      .head_dim = static_cast<int>(node.ne[0]),
                      .heads = static_cast<int>(node.ne[1]),
                      .values = {}};
    found = kept_.insert(kept_.end(), std::move(fresh));
  }
  const std::size_t before = found->values.size();
  found->values.resize(before + static_cast<std::size_t>(ggml_nelements(&node)));
  ggml_backend_tensor_get(&node, found->values.data() + before, 0, ggml_nbytes(&node));
}

void Rotations::inject(std::vector<InjectedTable> tables, std::vector<int> table_of_layer) {
  tables_ = std::move(tables);
  table_of_layer_ = std::move(table_of_layer);
}

void Rotations::begin(std::size_t n_tokens, std::span<const std::int32_t> positions) {
  n_tokens_ = n_tokens;
  positions_ = positions;
  written_.clear();
  originals_.clear();
  outcome_ = {};
  stopped_ = false;
  recording_ = seen_.empty();
}

Result<void> Rotations::end() {
  for (const Original& o : originals_) {
    o.node->src[2] = o.factors;
    nodes::set_float_param(*o.node, nodes::kRopeScale, o.scale);
    nodes::set_float_param(*o.node, nodes::kRopeExtrapolation, o.extrapolation);
    nodes::set_float_param(*o.node, nodes::kRopeMagnitude, o.magnitude);
  }
  originals_.clear();
  if (!outcome_ || stopped_) {
    if (recording_) seen_.clear();
  }
  return std::exchange(outcome_, {});
}

void Rotations::visit(ggml_tensor& node) {
  const int layer = nodes::place_of(node).layer;
  if (layer >= 0 && static_cast<std::size_t>(layer) < table_of_layer_.size()) {
    const int table = table_of_layer_[static_cast<std::size_t>(layer)];
    if (table >= 0) change(node, tables_[static_cast<std::size_t>(table)]);
  }
  if (!positions_.empty()) write_positions(*node.src[1]);
  if (recording_) seen_.push_back(nodes::read_node(node, layer));
}

void Rotations::change(ggml_tensor& node, InjectedTable& table) {
  ggml_tensor* factors = copy_for(node, table);
  if (factors == nullptr) return fail(ErrorCode::io, "no memory for the factors on the device of a layer");
  originals_.push_back({&node, node.src[2], nodes::float_param(node, nodes::kRopeScale),
                        nodes::float_param(node, nodes::kRopeExtrapolation),
                        nodes::float_param(node, nodes::kRopeMagnitude)});
  node.src[2] = factors;
  nodes::set_float_param(node, nodes::kRopeScale, 1);
  nodes::set_float_param(node, nodes::kRopeExtrapolation, 0);
  nodes::set_float_param(node, nodes::kRopeMagnitude, table.magnitude);
}

// All layers of a device read one tensor. Vision models have four positions per token: of text, three times the same
// and 0 (llama-graph.cpp, llm_graph_input_pos::set_input).
void Rotations::write_positions(ggml_tensor& tensor) {
  if (std::find(written_.begin(), written_.end(), &tensor) != written_.end()) return;
  const auto length = static_cast<std::size_t>(tensor.ne[0]);
  if (tensor.op != GGML_OP_NONE || (length != n_tokens_ && length != 4 * n_tokens_)) {
    return fail(ErrorCode::unsupported,
                fmt::format("this architecture rotates {} vectors at positions of its own for {} tokens; other "
                            "positions than those of the sequence cannot be given to it",
                            length, n_tokens_));
  }
  std::vector<std::int32_t> values(positions_.begin(), positions_.end());
  if (length == 4 * n_tokens_) {
    values.insert(values.end(), positions_.begin(), positions_.end());
    values.insert(values.end(), positions_.begin(), positions_.end());
    values.resize(length, 0);
  }
  ggml_backend_tensor_set(&tensor, values.data(), 0, values.size() * sizeof(std::int32_t));
  written_.push_back(&tensor);
}

void Rotations::fail(ErrorCode code, std::string message) {
  if (outcome_) outcome_ = Error{code, std::move(message), ""};
}

}  // namespace mrrope::llama

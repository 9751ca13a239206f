// SPDX-License-Identifier: MIT
#include "llama/rotations.h"

#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <utility>

#include "mrrope/spec.h"
#include "mrrope/spectrum.h"

namespace mrrope::llama {

namespace {

constexpr const char* kNoMemory = "no memory for the factors on the device of a layer";

// The scheduler copies an input to each device and calls it "CUDA0#name#0".
std::string device_of(const ggml_tensor& input) {
  const std::string name = input.name;
  return name.substr(0, name.find('#') == std::string::npos ? 0 : name.find('#'));
}

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

void set_table(ggml_tensor& node, ggml_tensor* factors, float magnitude) {
  node.src[2] = factors;
  nodes::set_float_param(node, nodes::kRopeScale, 1);
  nodes::set_float_param(node, nodes::kRopeExtrapolation, 0);
  nodes::set_float_param(node, nodes::kRopeMagnitude, magnitude);
}

}  // namespace

bool Rotations::on_node(ggml_tensor* node, bool ask, void* user_data) {
  Rotations& self = *static_cast<Rotations*>(user_data);
  if (!ask) {
    if (self.stopped_) return false;
    const nodes::NodePlace place = nodes::place_of(*node);
    const auto cache = self.cells_.find(place.cache);
    if (cache != self.cells_.end()) cache->second.turned = true;
    if (place.cache == nullptr) self.store(*node);
    return true;
  }
  if (self.cancel_.load(std::memory_order_relaxed)) {
    self.stopped_ = true;
    return true;
  }
  if (node->op == GGML_OP_SET_ROWS) {
    self.follow(*node);
    return false;
  }
  // ROPE_BACK: DeepSeek V4 turns what attention found back by the same angles.
  if (node->op != GGML_OP_ROPE && node->op != GGML_OP_ROPE_BACK) return false;
  const nodes::NodePlace place = nodes::place_of(*node);
  if (place.cache != nullptr) {
    self.turn(*node, place);
    return true;  // llama.cpp goes on when a shift fails: has it been computed?
  }
  self.visit(*node, place);
  return std::find(self.layers_kept_.begin(), self.layers_kept_.end(), place.layer) != self.layers_kept_.end();
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

void Rotations::follow_cells(bool follow) {
  following_ = follow;
  cells_.clear();
}

void Rotations::begin(std::span<const std::int32_t> positions, bool written, Injection* turn) {
  positions_ = positions;
  writing_ = written;
  turn_ = turn;
  written_.clear();
  originals_.clear();
  cells_of_tokens_.clear();
  for (auto& [cache, cells] : cells_) cells.turned = false;
  outcome_ = {};
  stopped_ = false;
  recording_ = seen_.empty();
  if (recording_) caches_.clear();
}

Result<void> Rotations::end() {
  for (const Original& o : originals_) {
    o.node->src[2] = o.factors;
    nodes::set_float_param(*o.node, nodes::kRopeScale, o.scale);
    nodes::set_float_param(*o.node, nodes::kRopeExtrapolation, o.extrapolation);
    nodes::set_float_param(*o.node, nodes::kRopeMagnitude, o.magnitude);
  }
  originals_.clear();
  if (turn_ != nullptr) check_turned();
  if (!outcome_ || stopped_) {
    if (recording_) seen_.clear();
  }
  return std::exchange(outcome_, {});
}

void Rotations::visit(ggml_tensor& node, const nodes::NodePlace& place) {
  const int table = tables_ != nullptr ? tables_->table_of(place.layer) : -1;
  if (table >= 0) change(node, tables_->tables[static_cast<std::size_t>(table)]);
  if (writing_) write_positions(*node.src[1]);
  if (recording_) seen_.push_back(nodes::read_node(node, place.layer));
}

void Rotations::change(ggml_tensor& node, InjectedTable& table) {
  ggml_tensor* factors = copy_for(node, table);
  if (factors == nullptr) return fail(ErrorCode::io, kNoMemory);
  originals_.push_back({&node, node.src[2], nodes::float_param(node, nodes::kRopeScale),
                        nodes::float_param(node, nodes::kRopeExtrapolation),
                        nodes::float_param(node, nodes::kRopeMagnitude)});
  set_table(node, factors, table.magnitude);
}

// llama.cpp writes keys to cells of "cache_k_l3"; which cells, it keeps in a tensor that all layers of a cache share.
void Rotations::follow(const ggml_tensor& set_rows) {
  if (!following_ && !recording_) return;
  const nodes::NodePlace place = nodes::place_of_cache(set_rows);
  if (place.cache == nullptr) return;
  if (recording_) {
    SharedCells& shared = caches_[set_rows.src[1]];
    shared.device = device_of(*set_rows.src[1]);
    shared.layers.push_back(place.layer);
    if (changed_after_ < 0 && !nodes::writes_what_was_rotated(set_rows)) changed_after_ = place.layer;
  }
  if (!following_) return;
  const ggml_tensor& rows = *set_rows.src[1];
  const auto [found, fresh] = cells_of_tokens_.try_emplace(&rows);
  std::vector<std::int64_t>& cells = found->second;
  if (fresh) {
    cells.resize(static_cast<std::size_t>(ggml_nelements(&rows)));
    if (rows.type == GGML_TYPE_I64) {
      ggml_backend_tensor_get(&rows, cells.data(), 0, cells.size() * sizeof(std::int64_t));
    } else {
      std::vector<std::int32_t> narrow(cells.size());
      ggml_backend_tensor_get(&rows, narrow.data(), 0, narrow.size() * sizeof(std::int32_t));
      cells.assign(narrow.begin(), narrow.end());
    }
  }
  if (cells.size() != positions_.size()) {
    return fail(ErrorCode::unsupported, fmt::format("{} keeps {} keys of {} tokens: which is which cannot be followed",
                                                    place.cache->name, cells.size(), positions_.size()));
  }
  Cells& cache = cells_[place.cache];
  cache.layer = place.layer;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] < 0 || cells[i] >= ggml_nrows(place.cache)) {  // as a server says
      return fail(ErrorCode::malformed, fmt::format("{} has no cell {}", place.cache->name, cells[i]));
    }
    const auto cell = static_cast<std::size_t>(cells[i]);
    if (cell >= cache.positions.size()) cache.positions.resize(cell + 1);
    cache.positions[cell] = positions_[i];
  }
}

// A node of the graph of a shift. Such a graph is made anew each time: its nodes need not be put back. An indexer's cache
// beside that of a layer has no keys until the text is long enough for it: nothing is to be turned there.
void Rotations::turn(ggml_tensor& node, const nodes::NodePlace& place) {
  const auto found = cells_.find(place.cache);
  const bool known = found != cells_.end();
  const bool beside =
      std::any_of(cells_.begin(), cells_.end(), [&](const auto& c) { return c.second.layer == place.layer; });
  ggml_tensor& positions = *node.src[1];
  const auto length = static_cast<std::size_t>(positions.ne[0]);
  if (turn_ == nullptr || !(known || beside) || positions.op != GGML_OP_NONE ||
      (known && found->second.positions.size() > length)) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} is shifted, and its positions are not known", place.cache->name));
  }
  std::vector<std::int32_t> values = known ? found->second.positions : std::vector<std::int32_t>();
  values.resize(length);  // cells without a key
  ggml_backend_tensor_set(&positions, values.data(), 0, values.size() * sizeof(std::int32_t));
  const int number = known ? turn_->table_of(place.layer) : -1;
  if (still_.factors.empty()) still_.factors.assign(kMaxRotaryDim / 2, static_cast<float>(kNoRotation));
  InjectedTable& table = number < 0 ? still_ : turn_->tables[static_cast<std::size_t>(number)];
  ggml_tensor* factors = copy_for(node, table);
  if (factors == nullptr) return fail(ErrorCode::io, kNoMemory);
  set_table(node, factors, table.magnitude);
  if (!table.own) return;
  // llama.cpp's shift of deepseek2-ocr pairs neighbours, its graph halves
  node.op_params[nodes::kRopeMode] = table.own->mode;
  if (node.op_params[nodes::kRopeDims] != table.own->dims ||
      nodes::float_param(node, nodes::kRopeBase) != table.own->base) {
    fail(ErrorCode::unsupported,
         fmt::format("llama.cpp shifts layer {} by another table than it rotates by", place.layer));
  }
}

// llama.cpp goes on when a shift fails.
void Rotations::check_turned() {
  for (const auto& [cache, cells] : cells_) {
    if (cells.turned || turn_->table_of(cells.layer) < 0) continue;
    return fail(ErrorCode::unsupported,
                fmt::format("llama.cpp did not rotate the cached keys of layer {}", cells.layer));
  }
}

// All layers of a device read one tensor. Vision models have four positions per token: of text, three times the same
// and 0 (llama-graph.cpp, llm_graph_input_pos::set_input).
void Rotations::write_positions(ggml_tensor& tensor) {
  if (std::find(written_.begin(), written_.end(), &tensor) != written_.end()) return;
  const auto length = static_cast<std::size_t>(tensor.ne[0]);
  const std::size_t n_tokens = positions_.size();
  if (tensor.op != GGML_OP_NONE || (length != n_tokens && length != 4 * n_tokens)) {
    return fail(ErrorCode::unsupported,
                fmt::format("this architecture rotates {} vectors at positions of its own for {} tokens; other "
                            "positions than those of the sequence cannot be given to it",
                            length, n_tokens));
  }
  std::vector<std::int32_t> values(positions_.begin(), positions_.end());
  if (length == 4 * n_tokens) {
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

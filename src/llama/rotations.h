// SPDX-License-Identifier: MIT
//
// The rotations of a running graph, changed and watched.
//
// llama.cpp shows every node of a graph to a callback before it runs (llama_context_params::cb_eval). Where a plan is
// set, the nodes that rotate get its factors, its magnitude, and nothing else that scales; where positions are given,
// the tensor the rotations read them from is overwritten. The nodes are as llama.cpp made them again when decoding has
// ended, because it uses a graph of the same shape again, maybe under another plan.
//
// Cached keys are turned by the graph that llama.cpp has for a context shift: it rotates every cell of every layer on
// the device that has it, at the start of a llama_decode. Its nodes get the positions of the cells in the place of the
// shift and the difference of two tables in the place of the table.
//
// The callback returns "no need to look at the result" for every node but those whose result is wanted, so graphs run
// in one piece.
#pragma once

#include <ggml-cpp.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mrrope/result.h"
#include "nodes/layer.h"
#include "nodes/rotation.h"

namespace mrrope::llama {

// What the nodes of some layers get, and its copies on the devices that asked for it so far: a tensor on another device
// than the node's is silently read as zeros by some of them (RPC).
struct InjectedTable {
  std::vector<float> factors;
  float magnitude = 1;
  std::optional<nodes::NodeRotation> own = {};  // of a turn: the layer's own rotation, which a shift has to be like

  struct Copy {
    ggml_context_ptr context;
    ggml_backend_buffer_ptr buffer;
    ggml_tensor* tensor = nullptr;
  };
  std::map<ggml_backend_buffer_type_t, Copy> copies = {};
};

// A table for each layer.
struct Injection {
  std::vector<InjectedTable> tables = {};
  std::vector<int> table_of_layer = {};  // an index into `tables`; -1, and beyond the end: the layer is left alone

  [[nodiscard]] int table_of(int layer) const {
    return layer >= 0 && static_cast<std::size_t>(layer) < table_of_layer.size()
               ? table_of_layer[static_cast<std::size_t>(layer)]
               : -1;
  }
};

// What a rotation gave, in float32, as the device had it.
struct RotatedNode {
  nodes::NodeRotation rotation;
  bool query = false;   // else keys
  bool halves = false;  // coordinate i turns with i + dims/2; else neighbours
  int head_dim = 0, heads = 0;
  std::vector<float> values;  // [token][head][head_dim], of all ubatches
};

class Rotations {
 public:
  // `cancel`: graphs stop at the next piece once it is set.
  explicit Rotations(const std::atomic<bool>& cancel) : cancel_(cancel) {}

  // cb_eval, with a Rotations as user data.
  static bool on_node(ggml_tensor* node, bool ask, void* user_data);

  // What the layers rotate by from now on; null: as in the file. It outlives the next end().
  void inject(Injection* tables) { tables_ = tables; }

  // From now on it is noted which cell of a cache has which position, so that cached keys can be turned. Costs a read of
  // eight bytes a token and cache. Domain: the caches are empty.
  void follow_cells(bool follow);

  // Around one llama_decode of one ubatch whose tokens have these positions; `written`: they are other than llama.cpp's.
  // `turn`: this llama_decode begins with a shift of all cells (by 0), which turns cached keys by these tables: a key at
  // position m by m base^(-i/n) / factor, times the magnitude; layers that it leaves alone stay as they are.
  void begin(std::span<const std::int32_t> positions, bool written, Injection* turn = nullptr);
  // What went wrong on the way, if anything; then the result of llama_decode is worthless, and so are cached keys that
  // were to be turned.
  Result<void> end();
  [[nodiscard]] bool stopped() const { return stopped_; }  // because of `cancel`; the result is worthless

  // From now on the results of these layers are kept, until the next call. Costs a synchronisation per node.
  void keep(std::vector<int> layers);
  [[nodiscard]] const std::vector<RotatedNode>& kept() const { return kept_; }

  // The nodes of the first decode since forget(), in the order they ran. Empty: none yet.
  [[nodiscard]] const std::vector<nodes::NodeRotation>& seen() const { return seen_; }
  void forget() { seen_.clear(); }
  // In the same decode: a layer whose keys are changed after their rotation, so that they cannot be turned; -1: none.
  [[nodiscard]] int changed_after() const { return changed_after_; }
  // And which layers of a device have their keys in one cache: layers with a window have one of their own.
  struct SharedCells {
    std::string device;  // as llama.cpp calls it; empty: there is one
    std::vector<int> layers;
  };
  [[nodiscard]] const std::map<const ggml_tensor*, SharedCells>& caches() const { return caches_; }

 private:
  struct Original {
    ggml_tensor* node;
    ggml_tensor* factors;
    float scale, extrapolation, magnitude;
  };

  // Positions by cell of one cache, of the layer that it belongs to.
  struct Cells {
    int layer = -1;
    std::vector<std::int32_t> positions;
    bool turned = false;
  };

  void visit(ggml_tensor& node, const nodes::NodePlace& place);
  void follow(const ggml_tensor& set_rows);
  void turn(ggml_tensor& node, const nodes::NodePlace& place);
  void check_turned();
  void store(const ggml_tensor& node);
  void change(ggml_tensor& node, InjectedTable& table);
  void write_positions(ggml_tensor& tensor);
  void fail(ErrorCode code, std::string message);

  const std::atomic<bool>& cancel_;
  Injection* tables_ = nullptr;
  bool following_ = false;
  std::map<const ggml_tensor*, Cells> cells_;  // by the tensor of the cache
  InjectedTable still_;                        // turns nothing

  // Of the decode that is running
  std::span<const std::int32_t> positions_;
  bool writing_ = false;
  Injection* turn_ = nullptr;
  std::vector<const ggml_tensor*> written_;
  std::map<const ggml_tensor*, std::vector<std::int64_t>> cells_of_tokens_;  // by the tensor that has them
  std::vector<Original> originals_;
  Result<void> outcome_;
  bool stopped_ = false;
  bool recording_ = false;

  std::vector<nodes::NodeRotation> seen_;
  int changed_after_ = -1;
  std::map<const ggml_tensor*, SharedCells> caches_;  // by the tensor that says which cells tokens go to
  std::vector<int> layers_kept_;
  std::vector<RotatedNode> kept_;
};

}  // namespace mrrope::llama

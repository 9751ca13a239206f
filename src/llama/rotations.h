// SPDX-License-Identifier: MIT
//
// The rotations of a running graph, changed and watched.
//
// llama.cpp shows every node of a graph to a callback before it runs (llama_context_params::cb_eval). Where a plan is
// set, the nodes that rotate get its factors, its magnitude, and nothing else that scales; where positions are given,
// the tensor the rotations read them from is overwritten. The nodes are as llama.cpp made them again when decoding has
// ended, because it uses a graph of the same shape again, maybe under another plan.
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
#include <vector>

#include "mrrope/result.h"
#include "nodes/rotation.h"

namespace mrrope::llama {

// What the nodes of some layers get, and its copies on the devices that asked for it so far: a tensor on another device
// than the node's is silently read as zeros by some of them (RPC).
struct InjectedTable {
  std::vector<float> factors;
  float magnitude = 1;

  struct Copy {
    ggml_context_ptr context;
    ggml_backend_buffer_ptr buffer;
    ggml_tensor* tensor = nullptr;
  };
  std::map<ggml_backend_buffer_type_t, Copy> copies = {};
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

  // `table_of_layer`: an index into `tables`, or -1 to leave the layer alone; layers beyond its end are left alone.
  void inject(std::vector<InjectedTable> tables, std::vector<int> table_of_layer);

  // Around one llama_decode of one ubatch. `positions` empty: those that llama.cpp wrote.
  void begin(std::size_t n_tokens, std::span<const std::int32_t> positions);
  // What went wrong on the way, if anything; then the result of llama_decode is worthless.
  Result<void> end();
  [[nodiscard]] bool stopped() const { return stopped_; }  // because of `cancel`; the result is worthless

  // From now on the results of these layers are kept, until the next call. Costs a synchronisation per node.
  void keep(std::vector<int> layers);
  [[nodiscard]] const std::vector<RotatedNode>& kept() const { return kept_; }

  // The nodes of the first decode since forget(), in the order they ran. Empty: none yet.
  [[nodiscard]] const std::vector<nodes::NodeRotation>& seen() const { return seen_; }
  void forget() { seen_.clear(); }

 private:
  struct Original {
    ggml_tensor* node;
    ggml_tensor* factors;
    float scale, extrapolation, magnitude;
  };

  void visit(ggml_tensor& node);
  void store(const ggml_tensor& node);
  void change(ggml_tensor& node, InjectedTable& table);
  void write_positions(ggml_tensor& tensor);
  void fail(ErrorCode code, std::string message);

  const std::atomic<bool>& cancel_;
  std::vector<InjectedTable> tables_;
  std::vector<int> table_of_layer_;

  // Of the decode that is running
  std::size_t n_tokens_ = 0;
  std::span<const std::int32_t> positions_;
  std::vector<const ggml_tensor*> written_;
  std::vector<Original> originals_;
  Result<void> outcome_;
  bool stopped_ = false;
  bool recording_ = false;

  std::vector<nodes::NodeRotation> seen_;
  std::vector<int> layers_kept_;
  std::vector<RotatedNode> kept_;
};

}  // namespace mrrope::llama

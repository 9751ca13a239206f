// SPDX-License-Identifier: MIT
//
// Architectures that compute the same thing under another name, and take factors there.
//
// qwen2 -> exaone: pre-norm, SwiGLU, half-split rotation, optional q/k/v biases; op for op the same graph.
// qwen3 -> exaone-moe: RMS norms on q and k before the rotation; it rotates only sliding layers, so all layers are
// declared sliding with a window no text reaches. Needs output.weight as a tensor of its own.
// Both were found bit-identical on tiny models (f32, q8_0, q4_K; tests/llama/test_extend.py).
#include <fmt/format.h>

#include "targets/llama_cpp.h"

namespace mrrope::targets {

Result<GgufEdits> relabel(const GgufModel& model, const formats::GgufRope& rope) {
  GgufEdits edits;
  if (rope.architecture == "qwen2") {
    edits.architecture = "exaone";
    return edits;
  }
  if (rope.architecture == "qwen3") {
    if (model.find_tensor("output.weight") == nullptr) {
      return Error{
          ErrorCode::unsupported,
          "this qwen3 shares its output with the embedding; exaone-moe needs output.weight as a tensor of its own", "",
          "relabel"};
    }
    edits.architecture = "exaone-moe";
    const std::string prefix = "exaone-moe.";
    const GgufValue* width = model.find("feed_forward_length");
    edits.set(prefix + "expert_feed_forward_length",
              GgufValue::u32(static_cast<std::uint32_t>(width != nullptr ? width->count().value_or(1) : 1)));
    edits.set(prefix + "expert_gating_func", GgufValue::u32(1));
    edits.set(prefix + "leading_dense_block_count", GgufValue::u32(static_cast<std::uint32_t>(rope.layers)));
    edits.set(prefix + "attention.sliding_window", GgufValue::u32(1U << 30));
    const std::vector<std::int32_t> all(static_cast<std::size_t>(rope.layers), 1);
    edits.set(prefix + "attention.sliding_window_pattern", GgufValue::i32_array(all));
    return edits;
  }
  return Error{ErrorCode::unsupported,
               fmt::format("no other name is known for {}; qwen2 and qwen3 have one", rope.architecture), "",
               "relabel"};
}

}  // namespace mrrope::targets

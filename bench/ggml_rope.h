// SPDX-License-Identifier: MIT
//
// ggml's own rotation, on one thread, in place, as llama.cpp would run it for a model with base 10 000.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "mrrope/rotary.h"

namespace mrrope::bench {

class GgmlRope {
 public:
  // Dense vectors (tokens, heads, head_dim) at `data`; ggml rotates f32 and f16.
  GgmlRope(void* data, const HeadShape& shape, std::size_t tokens);
  ~GgmlRope();
  GgmlRope(const GgmlRope&) = delete;
  GgmlRope& operator=(const GgmlRope&) = delete;

  // As many positions as tokens.
  void run(std::span<const std::int32_t> positions);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace mrrope::bench

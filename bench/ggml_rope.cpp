// SPDX-License-Identifier: MIT
#include "bench/ggml_rope.h"

#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <vector>

namespace mrrope::bench {

struct GgmlRope::Graph {
  ggml_context* context = nullptr;
  ggml_cgraph* graph = nullptr;
  ggml_cplan plan = {};
  std::vector<std::int32_t> positions;
  std::vector<std::uint8_t> work;
};

GgmlRope::GgmlRope(void* data, const HeadShape& shape, std::size_t tokens) : graph_(std::make_unique<Graph>()) {
  Graph& g = *graph_;
  g.positions.resize(tokens);
  g.context = ggml_init({.mem_size = std::size_t{1} << 20U, .mem_buffer = nullptr, .no_alloc = true});
  const ggml_type type = shape.type == ElementType::f32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
  ggml_tensor* vectors = ggml_new_tensor_3d(g.context, type, static_cast<std::int64_t>(shape.head_dim),
                                            static_cast<std::int64_t>(shape.heads), static_cast<std::int64_t>(tokens));
  vectors->data = data;
  ggml_tensor* positions = ggml_new_tensor_1d(g.context, GGML_TYPE_I32, static_cast<std::int64_t>(tokens));
  positions->data = g.positions.data();
  const int mode = shape.layout == PairLayout::half_split ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL;
  ggml_tensor* rotated = ggml_rope_ext_inplace(g.context, vectors, positions, nullptr, static_cast<int>(shape.head_dim),
                                               mode, 4096, 10000, 1, 0, 1, 32, 1);
  g.graph = ggml_new_graph(g.context);
  ggml_build_forward_expand(g.graph, rotated);
  g.plan = ggml_graph_plan(g.graph, 1, nullptr);
  g.work.resize(g.plan.work_size);
  g.plan.work_data = g.work.data();
}

GgmlRope::~GgmlRope() { ggml_free(graph_->context); }

void GgmlRope::run(std::span<const std::int32_t> positions) {
  std::copy(positions.begin(), positions.end(), graph_->positions.begin());
  ggml_graph_compute(graph_->graph, &graph_->plan);
}

}  // namespace mrrope::bench

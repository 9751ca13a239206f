// SPDX-License-Identifier: MIT
//
// What the tests of plugin/ share: the plug-in loaded as programs load it, and graphs of one rotation.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "mrrope/plan.h"

namespace mrrope::test {

// A file that goes with its test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("mrrope_plugin_" + std::to_string(std::random_device()()))) {
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// The plug-in between load and unload, under an environment of its own; messages() is what it wrote to standard error.
class LoadedPlugin {
 public:
  explicit LoadedPlugin(const std::string& plan = {}, bool optional = false) {
    plan.empty() ? unsetenv("MRROPE_PLAN") : setenv("MRROPE_PLAN", plan.c_str(), 1);
    optional ? setenv("MRROPE_PLAN_OPTIONAL", "1", 1) : unsetenv("MRROPE_PLAN_OPTIONAL");
    testing::internal::CaptureStderr();
    registration_ = ggml_backend_load(MRROPE_PLUGIN);
  }
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;
  ~LoadedPlugin() {
    backend_.reset();
    if (registration_ != nullptr) ggml_backend_unload(registration_);
    if (!messages_) testing::internal::GetCapturedStderr();
  }

  [[nodiscard]] ggml_backend_reg_t registration() const { return registration_; }
  [[nodiscard]] ggml_backend_dev_t device() const { return ggml_backend_reg_dev_get(registration_, 0); }

  // Of a context; nullptr if the plug-in makes none.
  ggml_backend_t backend() {
    if (!backend_) backend_.reset(ggml_backend_dev_init(device(), nullptr));
    return backend_.get();
  }
  void set_n_threads(int n) {
    using Function = void (*)(ggml_backend_t, int);
    void* address = ggml_backend_reg_get_proc_address(registration_, "ggml_backend_set_n_threads");
    reinterpret_cast<Function>(address)(backend(), n);
  }

  // So far. Nothing is caught any more afterwards.
  std::string messages() {
    if (!messages_) messages_ = testing::internal::GetCapturedStderr();
    return *messages_;
  }

 private:
  ggml_backend_reg_t registration_ = nullptr;
  ggml_backend_ptr backend_;
  std::optional<std::string> messages_;
};

// Arguments of ggml_rope_ext or ggml_rope_multi, with the names of those functions, and where the vectors lie.
struct RopeCase {
  ggml_type type = GGML_TYPE_F32;
  int mode = GGML_ROPE_TYPE_NEOX;
  int n_dims = 64;
  std::array<std::int64_t, 4> ne = {64, 3, 5, 1};  // head size, heads, tokens, sequences
  std::int64_t row = 0;                            // heads from one token to the next, if there are more than ne[1]
  int offset = 0;
  bool in_place = false;
  float freq_base = 10000, freq_scale = 1, ext_factor = 0, attn_factor = 1;
  int n_ctx_orig = 4096;
  std::vector<float> factors = {};
  std::vector<std::int32_t> positions = {0, 1, 7, 40, 3};
  std::array<int, 4> sections = {};  // of M-RoPE, which has four positions per token: time, height, width, extra
  std::string name = "Qcur-0";
};

// Positions for M-RoPE as llama.cpp gives them to text: three times the same, and 0.
inline std::vector<std::int32_t> of_text(const std::vector<std::int32_t>& positions) {
  std::vector<std::int32_t> out;
  for (int section = 0; section < 3; ++section) out.insert(out.end(), positions.begin(), positions.end());
  out.resize(4 * positions.size(), 0);
  return out;
}

// A graph of one rotation in memory of its own.
class RopeGraph {
 public:
  explicit RopeGraph(const RopeCase& c) : context_(ggml_init({1 << 20, nullptr, true})) {
    ggml_context* ctx = context_.get();
    const std::int64_t row = c.row == 0 ? c.ne[1] : c.row;
    vectors_ = ggml_new_tensor_4d(ctx, c.type, c.ne[0], row, c.ne[2], c.ne[3]);
    ggml_tensor* some =
        ggml_view_4d(ctx, vectors_, c.ne[0], c.ne[1], c.ne[2], c.ne[3], vectors_->nb[1], vectors_->nb[2],
                     vectors_->nb[3], static_cast<std::size_t>(row - c.ne[1]) * vectors_->nb[1]);
    positions_ = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, static_cast<std::int64_t>(c.positions.size()));
    ggml_tensor* factors = nullptr;
    if (!c.factors.empty()) {
      factors = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, static_cast<std::int64_t>(c.factors.size()));
    }
    if ((c.mode & GGML_ROPE_TYPE_MROPE) != 0) {
      std::array<int, 4> sections = c.sections;
      const auto rope = c.in_place ? ggml_rope_multi_inplace : ggml_rope_multi;
      node_ = rope(ctx, some, positions_, factors, c.n_dims, sections.data(), c.mode, c.n_ctx_orig, c.freq_base,
                   c.freq_scale, c.ext_factor, c.attn_factor, 32, 1);
    } else {
      const auto rope = c.in_place ? ggml_rope_ext_inplace : ggml_rope_ext;
      node_ = rope(ctx, some, positions_, factors, c.n_dims, c.mode, c.n_ctx_orig, c.freq_base, c.freq_scale,
                   c.ext_factor, c.attn_factor, 32, 1);
    }
    if (c.offset != 0) ggml_rope_set_offset(node_, c.offset);
    ggml_set_name(node_, c.name.c_str());
    graph_ = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph_, node_);
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_cpu_buffer_type()));
    ggml_backend_tensor_set(positions_, c.positions.data(), 0, c.positions.size() * sizeof(std::int32_t));
    if (factors != nullptr) ggml_backend_tensor_set(factors, c.factors.data(), 0, c.factors.size() * sizeof(float));

    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < ggml_nelements(vectors_); ++i) set(vectors_, i, uniform(random));
    before_ = values(*some);
  }

  [[nodiscard]] ggml_tensor* node() const { return node_; }
  ggml_status run(ggml_backend_t backend) { return ggml_backend_graph_compute(backend, graph_); }

  // (sequences, tokens, heads, head size)
  [[nodiscard]] const std::vector<float>& before() const { return before_; }
  [[nodiscard]] std::vector<float> after() const { return values(*node_); }
  // Everything the rotated vectors were cut out of.
  [[nodiscard]] std::vector<float> memory() const { return values(*vectors_); }

 private:
  static float get(const ggml_tensor& t, const std::byte* at) {
    if (t.type == GGML_TYPE_F32) {
      float value = 0;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    ggml_fp16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    return t.type == GGML_TYPE_F16 ? ggml_fp16_to_fp32(half) : ggml_bf16_to_fp32({half});
  }
  static void set(ggml_tensor* t, std::int64_t i, float value) {
    auto* at = static_cast<std::byte*>(t->data) + static_cast<std::size_t>(i) * ggml_type_size(t->type);
    if (t->type == GGML_TYPE_F32) {
      std::memcpy(at, &value, sizeof value);
    } else {
      const ggml_fp16_t half = t->type == GGML_TYPE_F16 ? ggml_fp32_to_fp16(value) : ggml_fp32_to_bf16(value).bits;
      std::memcpy(at, &half, sizeof half);
    }
  }
  static std::vector<float> values(const ggml_tensor& t) {
    std::vector<float> out;
    for (std::size_t s = 0; s < static_cast<std::size_t>(t.ne[3]); ++s) {
      for (std::size_t token = 0; token < static_cast<std::size_t>(t.ne[2]); ++token) {
        for (std::size_t head = 0; head < static_cast<std::size_t>(t.ne[1]); ++head) {
          for (std::size_t i = 0; i < static_cast<std::size_t>(t.ne[0]); ++i) {
            out.push_back(get(t, static_cast<const std::byte*>(t.data) + s * t.nb[3] + token * t.nb[2] +
                                     head * t.nb[1] + i * t.nb[0]));
          }
        }
      }
    }
    return out;
  }

  ggml_context_ptr context_;
  ggml_backend_buffer_ptr buffer_;
  ggml_tensor *vectors_ = nullptr, *positions_ = nullptr, *node_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
  std::vector<float> before_;
};

// What a node comes to on the plug-in.
inline std::vector<float> rotated(LoadedPlugin& plugin, const RopeCase& c) {
  RopeGraph graph(c);
  EXPECT_TRUE(ggml_backend_dev_supports_op(plugin.device(), graph.node()));
  EXPECT_EQ(graph.run(plugin.backend()), GGML_STATUS_SUCCESS);
  return graph.after();
}

}  // namespace mrrope::test

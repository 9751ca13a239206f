// SPDX-License-Identifier: MIT
//
// The rotation beside what bounds it and what it replaces, single-threaded and in place:
//
//   KERNEL/LAYOUT/TYPE/HEAD_DIM/HEADS/TOKENS/TILE     KERNEL: mrrope, ggml, scale (the same bytes, read and written),
//                                                     limit (the same, fetching ahead as mrrope does)
//   error/KERNEL/LAST, drift/KERNEL/START             not a time: a counter (bench/errors.h)
//
// TOKENS successive positions are rotated; their vectors share the memory of TILE tokens. TILE = TOKENS is a batch as
// it comes; a small TILE stays in the cache. The vectors are the same bytes for all kernels.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "bench/errors.h"
#include "bench/scale.h"
#include "mrrope/rotary.h"
#include "rotary/job.h"
#include "rotary/reference.h"

#ifdef MRROPE_BENCH_GGML
#include "bench/ggml_rope.h"
#endif

namespace mrrope::bench {
namespace {

struct Case {
  HeadShape shape;
  std::size_t tokens = 0;
  std::size_t tile = 0;

  [[nodiscard]] std::size_t elements() const { return tile * shape.heads * shape.head_dim; }
  [[nodiscard]] std::size_t bytes() const { return elements() * (shape.type == ElementType::f32 ? 4 : 2); }
};

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::f32: return "f32";
    case ElementType::f16: return "f16";
    case ElementType::bf16: return "bf16";
  }
  return "";
}

std::string name_of(const Case& c) {
  std::string name = c.shape.layout == PairLayout::half_split ? "half_split/" : "interleaved/";
  name += name_of(c.shape.type);
  for (const std::size_t number : {c.shape.head_dim, c.shape.heads, c.tokens, c.tile}) {
    name += "/" + std::to_string(number);
  }
  return name;
}

// One block of memory for all kernels and cases, page-aligned, with numbers around 1 of the type asked for last.
void* vectors_of(const Case& c) {
  static std::vector<float> memory;
  static ElementType type = ElementType::bf16;
  constexpr std::size_t kPage = 4096 / sizeof(float);
  const std::size_t needed = c.bytes() / sizeof(float) + kPage;
  if (memory.size() < needed || type != c.shape.type) {
    memory.resize(std::max(memory.size(), needed));
    type = c.shape.type;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const float value = 0.5F + 0.01F * static_cast<float>(i % 100);
      const auto stored = type == ElementType::f16 ? rotary::to_half(value) : rotary::to_bfloat(value);
      memory[i] = type == ElementType::f32 ? value : std::bit_cast<float>(std::uint32_t{stored} * 0x10001U);
    }
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (4096 - address % 4096) % 4096 / sizeof(float);
}

std::vector<double> speeds(std::size_t pairs) {
  std::vector<double> inv_freq;
  for (std::size_t i = 0; i < pairs; ++i) {
    inv_freq.push_back(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs)));
  }
  return inv_freq;
}

// Runs `tile(positions)` for all tokens of the case, tile after tile.
template <class Tile>
void run(benchmark::State& state, const Case& c, Tile tile) {
  std::vector<std::int32_t> positions;
  for (std::size_t t = 0; t < c.tokens; ++t) positions.push_back(static_cast<std::int32_t>(t));
  for ([[maybe_unused]] const auto _ : state) {
    for (std::size_t first = 0; first < c.tokens; first += c.tile) {
      tile(std::span<const std::int32_t>(positions).subspan(first, c.tile));
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(2 * c.bytes() * (c.tokens / c.tile)) *
                          static_cast<std::int64_t>(state.iterations()));
}

void run_mrrope(benchmark::State& state, const Case& c) {
  const RotaryTable table(speeds(c.shape.head_dim / 2));
  void* vectors = vectors_of(c);
  run(state, c, [&](auto positions) { apply_rotary(table, positions, vectors, c.shape); });
}

using Scale = void(float*, std::size_t, float);

void run_scale(benchmark::State& state, const Case& c, Scale* scale) {
  auto* data = static_cast<float*>(vectors_of(c));
  float factor = 1;
  benchmark::DoNotOptimize(factor);
  run(state, c, [&](auto) { scale(data, c.bytes() / sizeof(float), factor); });
}

#ifdef MRROPE_BENCH_GGML
void run_ggml(benchmark::State& state, const Case& c) {
  GgmlRope rope(vectors_of(c), c.shape, c.tile);
  run(state, c, [&](auto positions) { rope.run(positions); });
}
#endif

void add_speeds(const Case& c) {
  const std::string name = name_of(c);
  benchmark::RegisterBenchmark(("mrrope/" + name).c_str(), run_mrrope, c);
  benchmark::RegisterBenchmark(("scale/" + name).c_str(), run_scale, c, scale);
  benchmark::RegisterBenchmark(("limit/" + name).c_str(), run_scale, c, scale_fetching);
#ifdef MRROPE_BENCH_GGML
  if (c.shape.type != ElementType::bf16) benchmark::RegisterBenchmark(("ggml/" + name).c_str(), run_ggml, c);
#endif
}

void add_errors(const std::string& kernel, const Rotation& rotation) {
  for (const int power : {12, 17, 20, 24}) {
    const std::int32_t position = 1 << power;
    const auto once = [=](benchmark::State& state, const char* counter, auto measure) {
      double found = 0;
      for ([[maybe_unused]] const auto _ : state) found = measure();
      state.counters[counter] = found;
    };
    benchmark::RegisterBenchmark(
        ("error/" + kernel + "/" + std::to_string(position)).c_str(),
        [=](benchmark::State& state) { once(state, "error", [&] { return largest_error(rotation, position, 5000); }); })
        ->Iterations(1);
    benchmark::RegisterBenchmark(
        ("drift/" + kernel + "/" + std::to_string(position)).c_str(),
        [=](benchmark::State& state) { once(state, "drift", [&] { return score_drift(rotation, position); }); })
        ->Iterations(1);
  }
}

void add_all() {
  for (const PairLayout layout : {PairLayout::half_split, PairLayout::interleaved}) {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
      for (const std::size_t head_dim : {64U, 128U, 256U}) {
        for (const std::size_t heads : {8U, 32U}) {
          const HeadShape shape{.type = type, .layout = layout, .heads = heads, .head_dim = head_dim};
          for (const std::size_t tokens : {1U, 32U, 512U, 4096U, 16384U}) add_speeds({shape, tokens, tokens});
          add_speeds({shape, 4096, 32});
        }
      }
    }
  }
  add_errors("mrrope", [](std::span<const std::int32_t> positions, float* heads) {
    apply_rotary(RotaryTable(speeds(64)), positions, heads, {.heads = 1, .head_dim = 128});
  });
#ifdef MRROPE_BENCH_GGML
  add_errors("ggml", [](std::span<const std::int32_t> positions, float* heads) {
    GgmlRope(heads, {.heads = 1, .head_dim = 128}, positions.size()).run(positions);
  });
#endif
}

}  // namespace
}  // namespace mrrope::bench

int main(int argc, char** argv) {
  mrrope::bench::add_all();
  benchmark::AddCustomContext("instruction_set", mrrope::rotary::instruction_set());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

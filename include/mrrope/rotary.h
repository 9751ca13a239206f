// SPDX-License-Identifier: MIT
//
// Rotary embedding with a plan's table: exact at every position, at the speed of memory.
//
//   RotaryTable table = rotary_table(*plan);                                        // once per model
//   HeadShape q{.type = ElementType::f16, .heads = 32, .head_dim = 128};
//   apply_rotary(table, positions, queries, q);                                     // in place
//   re_rotate(old_table, old_positions, table, positions, cached_keys, k);          // keys that are rotated already
//
// Engines compute the angle m * theta in float32 and are wrong by 1e-2 rad at position 100 000. Here an angle is a
// 64-bit fraction of a turn, and a position's angle is a product modulo 2^64, which integers compute exactly. Sine and
// cosine follow from its upper bits, once per token for all heads. No table over positions exists, at any length.
//
// Contract of apply_rotary and re_rotate
//   layouts     half-split or interleaved pairs; the first 2 * pairs() coordinates of a head are rotated, the others
//               are kept (copied, if the destination is another)
//   position    every std::int32_t, in any order; negative ones turn backwards
//   error       of a pair of length 1, in each coordinate, at every position, against the exact rotation by the table's
//               angles: f32 <= 4e-7 (measured: 1.9e-7); f16, bf16: that, and one rounding of the result to its type, to
//               nearest even; times the attention scale
//   same bits   for a pair, whatever its neighbours, layout, alignment, strides or range are; between instruction sets
//               results may differ within the error above
//   alignment   that of the element type; vectors may start anywhere
//   tails       nothing is read or written outside the heads, whatever head_dim and pairs() are
//   aliasing    destination and source are the same (pointer and strides) or do not overlap
//   not numbers an infinity or NaN spoils its own pair and no other
//   threads     safe to call from any thread; work is shared by giving each thread a TokenRange of its own
//   memory      none is allocated; 2 KiB of stack
// Instruction set: the best that the processor has, chosen at the first call (Highway).
//
// How the error comes about, and what was measured: docs/rotary.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mrrope {

struct Plan;  // mrrope/plan.h

// ---- The table -----------------------------------------------------------------------------------------------------

// How far each pair turns per token. A value of 8 bytes per pair; sharing one between threads is safe.
class RotaryTable {
 public:
  // inv_freq: radians per token, one per pair; attention_scale multiplies every rotated coordinate.
  // Domain: inv_freq not empty, finite and >= 0; attention_scale finite and > 0.
  explicit RotaryTable(std::span<const double> inv_freq, double attention_scale = 1);

  [[nodiscard]] std::size_t pairs() const noexcept { return pairs_; }
  [[nodiscard]] double attention_scale() const noexcept { return attention_scale_; }

  // round(2^64 * inv_freq / 2 pi) mod 2^64: the turn of a pair per token. Position m stands at m * step, modulo 2^64.
  [[nodiscard]] std::uint64_t step(std::size_t pair) const noexcept {
    return std::uint64_t{upper_[pair]} << 32U | lower_[pair];
  }

  // The two halves of all steps, followed by zeros up to a multiple of kPadding: whole vectors can be read of them.
  static constexpr std::size_t kPadding = 64;
  [[nodiscard]] const std::uint32_t* upper() const noexcept { return upper_.data(); }
  [[nodiscard]] const std::uint32_t* lower() const noexcept { return lower_.data(); }

  bool operator==(const RotaryTable&) const = default;

 private:
  std::size_t pairs_;
  double attention_scale_;
  std::vector<std::uint32_t> upper_, lower_;
};

// What the layers of one group of a plan use, whether the plan extends them or not.
// Domain: group < plan.groups.size().
RotaryTable rotary_table(const Plan& plan, std::size_t group = 0);

// ---- The vectors ---------------------------------------------------------------------------------------------------

enum class ElementType : std::uint8_t {
  f32,
  f16,   // IEEE 754 binary16
  bf16,  // the upper half of an f32
};

// Which coordinates form pair i of n.
enum class PairLayout : std::uint8_t {
  half_split,   // i and n + i: Hugging Face models; ggml calls it NEOX
  interleaved,  // 2 i and 2 i + 1: the original RoPE, Llama in GGUF files; ggml calls it NORMAL
};

// Vectors (tokens, heads, head_dim) in memory. The coordinates of a head lie side by side; tokens and heads may lie
// anywhere: in a fused q-k-v row, in a cache (heads, tokens, head_dim), in the rotated part of a larger head.
struct HeadShape {
  ElementType type = ElementType::f32;
  PairLayout layout = PairLayout::half_split;
  std::size_t heads = 1;
  std::size_t head_dim = 0;      // at least 2 * pairs() of the table
  std::size_t head_stride = 0;   // elements from one head to the next; 0: head_dim
  std::size_t token_stride = 0;  // elements from one token to the next; 0: heads * head_stride

  bool operator==(const HeadShape&) const = default;
};

// A thread's share of the tokens: first … last - 1, as indices into `positions`. The default is all of them.
struct TokenRange {
  std::size_t first = 0;
  std::size_t last = std::numeric_limits<std::size_t>::max();  // beyond positions.size(): up to its end

  bool operator==(const TokenRange&) const = default;
};

// ---- The rotation --------------------------------------------------------------------------------------------------

// Turns every pair of every head of token t by positions[t] steps, and multiplies it by the attention scale.
//
// positions: one per token, for all heads of it
// vectors:   the first head of token 0 (not of tokens.first), elements of shape.type
void apply_rotary(const RotaryTable& table, std::span<const std::int32_t> positions, void* vectors,
                  const HeadShape& shape, TokenRange tokens = {});

// The same from one place to another; the coordinates that are not rotated are copied.
//
// from, to: may differ in their strides, and in nothing else
void apply_rotary(const RotaryTable& table, std::span<const std::int32_t> positions, const void* source,
                  const HeadShape& from, void* destination, const HeadShape& to, TokenRange tokens = {});

// Moves keys that were rotated before: what table `from` did at old_positions[t] is undone, what table `to` does at
// new_positions[t] is done, in one turn and with one rounding. A cache is shifted with the same table twice (the
// attention scale is not applied again), and follows a plan that changes with the length with the tables before and
// after. Every call costs stored f16 and bf16 keys one more rounding.
//
// from, to:      have the same number of pairs
// old_positions: one per token, as many as new_positions
void re_rotate(const RotaryTable& from, std::span<const std::int32_t> old_positions, const RotaryTable& to,
               std::span<const std::int32_t> new_positions, void* keys, const HeadShape& shape, TokenRange tokens = {});

}  // namespace mrrope

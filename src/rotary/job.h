// SPDX-License-Identifier: MIT
//
// One call of apply_rotary or re_rotate with its defaults filled in: what the kernels and the reference take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mrrope/rotary.h"

namespace mrrope::rotary {

// Where a position stands on a table.
struct Angles {
  const RotaryTable* table = nullptr;
  const std::int32_t* positions = nullptr;  // one per token
};

struct Job {
  Angles forward;
  Angles backward;  // undone at the same time; table == nullptr: nothing to undo

  // f32: float; f16, bf16: std::uint16_t. (tokens, heads, head_dim), strides in elements.
  const void* source = nullptr;
  void* destination = nullptr;
  struct Strides {
    std::size_t head = 0;
    std::size_t token = 0;
  };
  Strides from, to;

  ElementType type = ElementType::f32;
  PairLayout layout = PairLayout::half_split;
  std::size_t heads = 0;
  std::size_t head_dim = 0;
  std::size_t first = 0, last = 0;  // tokens
  double scale = 1;                 // of the coordinates that are rotated

  [[nodiscard]] std::size_t pairs() const { return forward.table->pairs(); }
};

// How far ahead the kernels fetch, in bytes. Heads lie one behind the other, as a rule, and a page ahead is where
// memory has time to answer: an eighth less time in and out of the cache (head 128, Sapphire Rapids).
inline constexpr std::size_t kFetchAhead = 4096;

// What the calls run on now: "AVX3", "AVX2", "SSE4", "NEON", …; "SCALAR" and "EMU128" are the reference.
const char* instruction_set();

}  // namespace mrrope::rotary

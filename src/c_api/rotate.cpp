// SPDX-License-Identifier: MIT
//
// The contract of mrrope/rotary.h, checked: C callers give the size of their memory, and nothing outside is touched.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "c_api/boundary.h"
#include "c_api/handles.h"
#include "mrrope/rotary.h"

using namespace mrrope;
using c_api::fail;

static_assert(MRROPE_F32 == int(ElementType::f32) && MRROPE_F16 == int(ElementType::f16) &&
              MRROPE_BF16 == int(ElementType::bf16));
static_assert(MRROPE_HALF_SPLIT == int(PairLayout::half_split) && MRROPE_INTERLEAVED == int(PairLayout::interleaved));

namespace {

// a * b + c, nothing if that is more than memory can be.
std::optional<std::size_t> product_and(std::size_t a, std::size_t b, std::size_t c) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  if (a != 0 && b > (most - c) / a) return std::nullopt;
  return a * b + c;
}

// Elements from the first of token 0 to the last of the last token. Domain: tokens and shape.heads at least 1.
std::optional<std::size_t> extent(const HeadShape& shape, std::size_t tokens) {
  const std::optional<std::size_t> one = product_and(shape.heads - 1, shape.head_stride, shape.head_dim);
  return one ? product_and(tokens - 1, shape.token_stride, *one) : std::nullopt;
}

const char* kBeyond = "vectors.size: less than the heads and strides reach";

// Checks the vectors of `tokens` tokens, at least one, and turns them.
template <class Turn>
int turn_checked(const RotaryTable& table, const int32_t* positions, std::size_t tokens, const mrrope_vectors& vectors,
                 Turn turn) {
  const auto refuse = [](const char* sentence) { return fail(MRROPE_INVALID_ARGUMENT, sentence); };
  if (vectors.type < MRROPE_F32 || vectors.type > MRROPE_BF16) return refuse("vectors.type: not a known type");
  if (vectors.layout < MRROPE_HALF_SPLIT || vectors.layout > MRROPE_INTERLEAVED) {
    return refuse("vectors.layout: not a known layout");
  }
  if (vectors.heads == 0) return refuse("vectors.heads: 0");
  if (vectors.head_dim < 2 * table.pairs()) return refuse("vectors.head_dim: less than the rotated coordinates");
  if (tokens == 0) return int{MRROPE_OK};
  if (positions == nullptr) return refuse("positions: NULL");
  if (vectors.data == nullptr) return refuse("vectors.data: NULL");

  HeadShape shape{.type = static_cast<ElementType>(vectors.type),
                  .layout = static_cast<PairLayout>(vectors.layout),
                  .heads = vectors.heads,
                  .head_dim = vectors.head_dim,
                  .head_stride = vectors.head_stride == 0 ? vectors.head_dim : vectors.head_stride,
                  .token_stride = vectors.token_stride};
  if (shape.token_stride == 0) {
    const std::optional<std::size_t> dense = product_and(shape.heads, shape.head_stride, 0);
    if (!dense) return refuse(kBeyond);
    shape.token_stride = *dense;
  }
  const std::size_t element = vectors.type == MRROPE_F32 ? 4 : 2;
  if (reinterpret_cast<std::uintptr_t>(vectors.data) % element != 0) return refuse("vectors.data: not aligned");
  const std::optional<std::size_t> needed = extent(shape, tokens);
  if (!needed || *needed > vectors.size / element) return refuse(kBeyond);
  turn(std::span(positions, tokens), shape);
  return int{MRROPE_OK};
}

}  // namespace

int mrrope_rotate(const mrrope_plan* plan, size_t group, const int32_t* positions, size_t tokens,
                  const mrrope_vectors* vectors) {
  return c_api::guarded([&] {
    const auto refuse = [](const char* sentence) { return fail(MRROPE_INVALID_ARGUMENT, sentence); };
    if (plan == nullptr) return refuse("plan: NULL");
    if (vectors == nullptr) return refuse("vectors: NULL");
    if (group >= plan->tables.size()) return refuse("group: beyond the last of the plan");
    const RotaryTable& table = plan->tables[group];
    return turn_checked(table, positions, tokens, *vectors,
                        [&](std::span<const std::int32_t> at, const HeadShape& shape) {
                          apply_rotary(table, at, vectors->data, shape);
                        });
  });
}

int mrrope_re_rotate(const mrrope_plan* from, const mrrope_plan* to, size_t group, const int32_t* positions,
                     size_t tokens, const mrrope_vectors* keys) {
  return c_api::guarded([&] {
    const auto refuse = [](const char* sentence) { return fail(MRROPE_INVALID_ARGUMENT, sentence); };
    if (from == nullptr) return refuse("from: NULL");
    if (to == nullptr) return refuse("to: NULL");
    if (keys == nullptr) return refuse("keys: NULL");
    if (group >= from->tables.size() || group >= to->tables.size()) return refuse("group: beyond the last of a plan");
    const RotaryTable& old_table = from->tables[group];
    const RotaryTable& new_table = to->tables[group];
    if (old_table.pairs() != new_table.pairs()) return refuse("to: another number of pairs than from");
    return turn_checked(old_table, positions, tokens, *keys,
                        [&](std::span<const std::int32_t> at, const HeadShape& shape) {
                          re_rotate(old_table, at, new_table, at, keys->data, shape);
                        });
  });
}

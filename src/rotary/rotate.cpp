// SPDX-License-Identifier: MIT
//
// The kernels. For each token the rotation of its pairs is computed once, in blocks that stay in the first cache, and
// applied to all heads.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "mrrope/rotary.h"
#include "rotary/job.h"
#include "rotary/reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rotary/rotate.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles what follows once per instruction set
#include <hwy/highway.h>

#include "rotary/elements-inl.h"
#include "rotary/sincos-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mrrope::rotary::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

void rotate(const Job& job) { rotate_plainly(job); }

#else

constexpr std::size_t kBlock = 128;  // pairs; a multiple of RotaryTable::kPadding
constexpr std::size_t kLanes = hn::MaxLanes(hn::CappedTag<float, RotaryTable::kPadding>());

// Past the end of the data it does nothing.
template <class Stored>
HWY_INLINE void fetch_ahead(const Stored* p) {
  hwy::Prefetch(p + kFetchAhead / sizeof(Stored));
}

// Pairs i … count - 1 of a head, (from[i], from[half + i]). What fills no vector of kMost lanes goes to one of half as
// many, down to a single pair, so that all of them see the same arithmetic.
template <class Element, std::size_t kMost, class Stored = typename Element::Stored>
HWY_INLINE void rotate_half_split(const Stored* from, Stored* to, std::size_t half, std::size_t i, std::size_t count,
                                  const float* cosine, const float* sine) {
  const hn::CappedTag<float, kMost> d;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    fetch_ahead(from + i);
    fetch_ahead(from + half + i);
    const auto x = Element::load(d, from + i);
    const auto y = Element::load(d, from + half + i);
    const auto c = hn::Load(d, cosine + i);
    const auto s = hn::Load(d, sine + i);
    Element::store(d, hn::MulSub(x, c, hn::Mul(y, s)), to + i);
    Element::store(d, hn::MulAdd(y, c, hn::Mul(x, s)), to + half + i);
  }
  if constexpr (kMost > 1) {
    if (i < count) rotate_half_split<Element, kMost / 2>(from, to, half, i, count, cosine, sine);
  }
}

// Coordinates i … count - 1 of a head, both even: each times the cosine, plus its partner times the signed sine.
template <class Element, std::size_t kMost, class Stored = typename Element::Stored>
HWY_INLINE void rotate_interleaved(const Stored* from, Stored* to, std::size_t i, std::size_t count,
                                   const float* cosine, const float* sine) {
  const hn::CappedTag<float, kMost> d;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    fetch_ahead(from + i);
    const auto v = Element::load(d, from + i);
    const auto c = hn::Load(d, cosine + i);
    const auto s = hn::Load(d, sine + i);
    Element::store(d, hn::MulAdd(v, c, hn::Mul(hn::Reverse2(d, v), s)), to + i);
  }
  if constexpr (kMost > 2) {
    if (i < count) rotate_interleaved<Element, kMost / 2>(from, to, i, count, cosine, sine);
  }
}

template <class Element, PairLayout kLayout>
void rotate_tokens(const Job& job) {
  using Stored = typename Element::Stored;
  HWY_ALIGN float cosine[2 * kBlock];  // NOLINT(modernize-avoid-c-arrays): aligned
  HWY_ALIGN float sine[2 * kBlock];    // NOLINT(modernize-avoid-c-arrays)
  const std::size_t pairs = job.pairs();
  for (std::size_t token = job.first; token < job.last; ++token) {
    const Stored* source = static_cast<const Stored*>(job.source) + token * job.from.token;
    Stored* destination = static_cast<Stored*>(job.destination) + token * job.to.token;
    for (std::size_t first = 0; first < pairs; first += kBlock) {
      const std::size_t count = std::min(kBlock, pairs - first);
      rotation<kLayout>(job, token, first, count, cosine, sine);
      for (std::size_t head = 0; head < job.heads; ++head) {
        const Stored* from = source + head * job.from.head;
        Stored* to = destination + head * job.to.head;
        if constexpr (kLayout == PairLayout::half_split) {
          rotate_half_split<Element, kLanes>(from + first, to + first, pairs, 0, count, cosine, sine);
        } else {
          rotate_interleaved<Element, kLanes>(from + 2 * first, to + 2 * first, 0, 2 * count, cosine, sine);
        }
      }
    }
    if (source == destination || 2 * pairs == job.head_dim) continue;
    for (std::size_t head = 0; head < job.heads; ++head) {
      std::memcpy(destination + head * job.to.head + 2 * pairs, source + head * job.from.head + 2 * pairs,
                  (job.head_dim - 2 * pairs) * sizeof(Stored));
    }
  }
}

template <class Element>
void rotate_elements(const Job& job) {
  if (job.layout == PairLayout::half_split) {
    rotate_tokens<Element, PairLayout::half_split>(job);
  } else {
    rotate_tokens<Element, PairLayout::interleaved>(job);
  }
}

void rotate(const Job& job) {
  switch (job.type) {
    case ElementType::f32: return rotate_elements<F32>(job);
    case ElementType::f16: return rotate_elements<F16>(job);
    case ElementType::bf16: return rotate_elements<BF16>(job);
  }
}

#endif

const char* name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace mrrope::rotary::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mrrope {

namespace rotary {
namespace {

HWY_EXPORT(rotate);
HWY_EXPORT(name);

Job::Strides strides(const HeadShape& shape) {
  const std::size_t head = shape.head_stride == 0 ? shape.head_dim : shape.head_stride;
  return {.head = head, .token = shape.token_stride == 0 ? shape.heads * head : shape.token_stride};
}

void run(Job job, const HeadShape& from, const HeadShape& to, std::size_t token_count, TokenRange tokens) {
  assert(from.type == to.type && from.layout == to.layout && from.heads == to.heads && from.head_dim == to.head_dim);
  assert(2 * job.pairs() <= from.head_dim);
  job.from = strides(from);
  job.to = strides(to);
  job.type = from.type;
  job.layout = from.layout;
  job.heads = from.heads;
  job.head_dim = from.head_dim;
  job.first = tokens.first;
  job.last = std::min(tokens.last, token_count);
  job.scale = job.forward.table->attention_scale();
  if (job.backward.table) job.scale /= job.backward.table->attention_scale();
  HWY_DYNAMIC_DISPATCH(rotate)(job);
}

}  // namespace

const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(name)(); }

}  // namespace rotary

void apply_rotary(const RotaryTable& table, std::span<const std::int32_t> positions, void* vectors,
                  const HeadShape& shape, TokenRange tokens) {
  apply_rotary(table, positions, vectors, shape, vectors, shape, tokens);
}

void apply_rotary(const RotaryTable& table, std::span<const std::int32_t> positions, const void* source,
                  const HeadShape& from, void* destination, const HeadShape& to, TokenRange tokens) {
  rotary::Job job;
  job.forward = {.table = &table, .positions = positions.data()};
  job.source = source;
  job.destination = destination;
  rotary::run(job, from, to, positions.size(), tokens);
}

void re_rotate(const RotaryTable& from, std::span<const std::int32_t> old_positions, const RotaryTable& to,
               std::span<const std::int32_t> new_positions, void* keys, const HeadShape& shape, TokenRange tokens) {
  assert(from.pairs() == to.pairs() && old_positions.size() == new_positions.size());
  rotary::Job job;
  job.forward = {.table = &to, .positions = new_positions.data()};
  job.backward = {.table = &from, .positions = old_positions.data()};
  job.source = keys;
  job.destination = keys;
  rotary::run(job, shape, shape, new_positions.size(), tokens);
}

}  // namespace mrrope
#endif

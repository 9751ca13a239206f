// SPDX-License-Identifier: MIT
//
// From a position to the sine and cosine of its angles: one exact product, one reduction without error, two
// polynomials.

// Compiled once per instruction set: this guard toggles.
#if defined(MRROPE_ROTARY_SINCOS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MRROPE_ROTARY_SINCOS_INL_H
#undef MRROPE_ROTARY_SINCOS_INL_H
#else
#define MRROPE_ROTARY_SINCOS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "rotary/job.h"

HWY_BEFORE_NAMESPACE();
namespace mrrope::rotary::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The upper 32 bits of (position * step) mod 2^64 for the pairs first, first + 1, …: a fraction of a turn, rounded down
// to 2^-32 (1.5e-9 rad).
//
// With step = upper 2^32 + lower, that is position * upper plus the upper half of position * lower, modulo 2^32. A
// negative position enters as position + 2^32, which is `lower` too much.
template <class D>
HWY_INLINE hn::Vec<D> phases(D du, const RotaryTable& table, std::int32_t position, std::size_t first) {
  const hn::Repartition<std::uint64_t, D> du64;
  const auto upper = hn::LoadU(du, table.upper() + first);
  const auto lower = hn::LoadU(du, table.lower() + first);
  const auto m = hn::Set(du, static_cast<std::uint32_t>(position));
  const auto even = hn::ShiftRight<32>(hn::MulEven(m, lower));
  const auto odd = hn::MulEven(m, hn::BitCast(du, hn::ShiftRight<32>(hn::BitCast(du64, lower))));
  const auto carry = hn::OddEven(hn::BitCast(du, odd), hn::BitCast(du, even));
  const auto excess = hn::And(lower, hn::Set(du, position < 0 ? 0xFFFFFFFFU : 0U));
  return hn::Sub(hn::Add(hn::Mul(m, upper), carry), excess);
}

// Error of each: <= 1e-7 (docs/rotary.md). Exact at whole quarters of a turn.
// The phase is q quarter turns and a rest t of -1/8 … 1/8 turn, both exact; t is then rounded to float32 (2.4e-8 rad).
// Polynomials: tools/rotary_coefficients.py.
template <class D>
HWY_INLINE void sin_cos(D d, hn::Vec<hn::RebindToUnsigned<D>> phase, hn::Vec<D>& sine, hn::Vec<D>& cosine) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto q = hn::ShiftRight<30>(hn::Add(phase, hn::Set(du, 1U << 29U)));
  const auto rest = hn::BitCast(di, hn::Sub(phase, hn::ShiftLeft<30>(q)));
  const auto t = hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, 0x1p-32F));
  const auto z = hn::Mul(t, t);

  // sin 2 pi t = 2 pi t + t z S(z), with 2 pi in two parts; cos 2 pi t = 1 + z C(z)
  auto s = hn::MulAdd(z, hn::Set(d, -75.7263031F), hn::Set(d, 81.59951782F));
  s = hn::MulAdd(z, s, hn::Set(d, -41.34169769F));
  s = hn::MulAdd(z, s, hn::Set(d, -1.748455531e-7F));
  s = hn::MulAdd(t, hn::Set(d, 6.283185482F), hn::Mul(t, s));
  auto c = hn::MulAdd(z, hn::Set(d, 59.4241066F), hn::Set(d, -85.44882202F));
  c = hn::MulAdd(z, c, hn::Set(d, 64.9393692F));
  c = hn::MulAdd(z, c, hn::Set(d, -19.73920822F));
  c = hn::MulAdd(z, c, hn::Set(d, 1.0F));

  // Odd quarters exchange the two; the sine is negative in quarters 2 and 3, the cosine in 1 and 2
  const auto odd = hn::RebindMask(d, hn::TestBit(q, hn::Set(du, 1)));
  const auto top = hn::Set(du, 0x80000000U);
  const auto sine_sign = hn::And(hn::ShiftLeft<30>(q), top);
  const auto cosine_sign = hn::And(hn::ShiftLeft<30>(hn::Add(q, hn::Set(du, 1))), top);
  sine = hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(d, sine_sign));
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), hn::BitCast(d, cosine_sign));
}

// The rotation of `count` pairs of a token, from pair `first` on, ready to be multiplied with the coordinates:
// half-split  cosine[i], sine[i]                              of pair first + i
// interleaved cosine[2i] = cosine[2i+1], sine[2i] = -sine[2i+1]
// Domain: first and the room behind `cosine` and `sine` are multiples of RotaryTable::kPadding; both aligned.
template <PairLayout kLayout>
HWY_INLINE void rotation(const Job& job, std::size_t token, std::size_t first, std::size_t count, float* cosine,
                         float* sine) {
  const hn::CappedTag<float, RotaryTable::kPadding> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto scale = hn::Set(d, static_cast<float>(job.scale));
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto phase = phases(du, *job.forward.table, job.forward.positions[token], first + i);
    if (job.backward.table) {
      phase = hn::Sub(phase, phases(du, *job.backward.table, job.backward.positions[token], first + i));
    }
    auto s = hn::Zero(d);
    auto c = hn::Zero(d);
    sin_cos(d, phase, s, c);
    s = hn::Mul(s, scale);
    c = hn::Mul(c, scale);
    if constexpr (kLayout == PairLayout::half_split) {
      hn::Store(c, d, cosine + i);
      hn::Store(s, d, sine + i);
    } else {
      hn::StoreInterleaved2(c, c, d, cosine + 2 * i);
      hn::StoreInterleaved2(hn::Neg(s), s, d, sine + 2 * i);
    }
  }
}

}  // namespace mrrope::rotary::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

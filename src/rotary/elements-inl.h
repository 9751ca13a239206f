// SPDX-License-Identifier: MIT
//
// Stored numbers as vectors of float32 and back, to nearest even, on every instruction set.
//
// Highway 1.0 converts f16 by truncation where the processor cannot (SSE4 and below), and bf16 by truncation
// everywhere; hence the integer arithmetic below.

// Compiled once per instruction set: this guard toggles.
#if defined(MRROPE_ROTARY_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MRROPE_ROTARY_ELEMENTS_INL_H
#undef MRROPE_ROTARY_ELEMENTS_INL_H
#else
#define MRROPE_ROTARY_ELEMENTS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mrrope::rotary::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In all of these, D is a tag of float32 lanes, and `p` needs the alignment of its type only.
struct F32 {
  using Stored = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const float* p) {
    return hn::LoadU(d, p);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, float* p) {
    hn::StoreU(v, d, p);
  }
};

struct BF16 {
  using Stored = std::uint16_t;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint16_t, D>(), p))));
  }
  template <class D>
  static HWY_INLINE void store(D /*d*/, hn::Vec<D> v, std::uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    // Half of the lower part's range, and one less before an even number; a NaN stays one, and quiet
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)));
    const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
    const auto kept = hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, v)), rounded, quiet);
    hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(kept)), d16, p);
  }
};

#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4

// No conversion in hardware. After Marat Dukhan's FP16 library (fp16_ieee_to_fp32_value, fp16_ieee_from_fp32_value):
// the multiplications and additions of float32 do the shifting and the rounding.
struct F16 {
  using Stored = std::uint16_t;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint16_t, D>(), p));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFF));
    // Exponent 31 becomes 255, and 2^-112 brings all others to their place
    const auto moved = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(du, 0xE0U << 23U));
    const auto normal = hn::Mul(hn::BitCast(d, moved), hn::Set(d, 0x1p-112F));
    // 0.5 + k 2^-24, minus 0.5
    const auto half = hn::Or(magnitude, hn::BitCast(du, hn::Set(d, 0.5F)));
    const auto subnormal = hn::Sub(hn::BitCast(d, half), hn::Set(d, 0.5F));
    const auto is_subnormal = hn::RebindMask(d, hn::Lt(magnitude, hn::Set(du, 0x400)));
    return hn::BitCast(d, hn::Or(sign, hn::BitCast(du, hn::IfThenElse(is_subnormal, subnormal, normal))));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000));
    // Too large becomes infinite; then a number is added whose last place is where the result's is
    const auto magnitude = hn::Mul(hn::Mul(hn::Abs(v), hn::Set(d, 0x1p+112F)), hn::Set(d, 0x1p-110F));
    const auto exponent = hn::Max(hn::And(hn::ShiftLeft<1>(bits), hn::Set(du, 0xFF000000U)), hn::Set(du, 0x71000000U));
    const auto rounder = hn::BitCast(d, hn::Add(hn::ShiftRight<1>(exponent), hn::Set(du, 0x07800000U)));
    const auto rounded = hn::BitCast(du, hn::Add(rounder, magnitude));
    const auto number =
        hn::Add(hn::And(hn::ShiftRight<13>(rounded), hn::Set(du, 0x7C00)), hn::And(rounded, hn::Set(du, 0x0FFF)));
    const auto kept = hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, v)), number, hn::Set(du, 0x7E00));
    hn::StoreU(hn::TruncateTo(d16, hn::Or(sign, kept)), d16, p);
  }
};

#else

struct F16 {
  using Stored = std::uint16_t;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* p) {
    const hn::Rebind<std::uint16_t, D> d16;
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), hn::LoadU(d16, p)));
  }
  template <class D>
  static HWY_INLINE void store(D /*d*/, hn::Vec<D> v, std::uint16_t* p) {
    const hn::Rebind<std::uint16_t, D> d16;
    hn::StoreU(hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v)), d16, p);
  }
};

#endif

}  // namespace mrrope::rotary::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: MIT
#include "bench/scale.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/scale.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mrrope::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four vectors at a time, so that the loop itself costs nothing. Domain: count is a multiple of 4 vectors.
void scale(float* data, std::size_t count, float factor) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  for (std::size_t i = 0; i < count; i += 4 * lanes) {
    const auto a = hn::Mul(hn::LoadU(d, data + i), f);
    const auto b = hn::Mul(hn::LoadU(d, data + i + lanes), f);
    const auto c = hn::Mul(hn::LoadU(d, data + i + 2 * lanes), f);
    const auto e = hn::Mul(hn::LoadU(d, data + i + 3 * lanes), f);
    hn::StoreU(a, d, data + i);
    hn::StoreU(b, d, data + i + lanes);
    hn::StoreU(c, d, data + i + 2 * lanes);
    hn::StoreU(e, d, data + i + 3 * lanes);
  }
}

}  // namespace mrrope::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mrrope::bench {

HWY_EXPORT(scale);

void scale(float* data, std::size_t count, float factor) { HWY_DYNAMIC_DISPATCH(scale)(data, count, factor); }

}  // namespace mrrope::bench
#endif

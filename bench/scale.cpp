// SPDX-License-Identifier: MIT
#include "bench/scale.h"

#include "rotary/job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/scale.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mrrope::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Four vectors at a time, so that the loop itself costs nothing.
template <bool kFetching>
HWY_INLINE void scale_by_four(float* data, std::size_t count, float factor) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  for (std::size_t i = 0; i < count; i += 4 * lanes) {
    if constexpr (kFetching) {
      for (std::size_t vector = 0; vector < 4; ++vector)
        hwy::Prefetch(data + i + rotary::kFetchAhead / sizeof(float) + vector * lanes);
    }
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

void scale(float* data, std::size_t count, float factor) { scale_by_four<false>(data, count, factor); }
void scale_fetching(float* data, std::size_t count, float factor) { scale_by_four<true>(data, count, factor); }

}  // namespace
}  // namespace mrrope::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mrrope::bench {

HWY_EXPORT(scale);
HWY_EXPORT(scale_fetching);

void scale(float* data, std::size_t count, float factor) { HWY_DYNAMIC_DISPATCH(scale)(data, count, factor); }
void scale_fetching(float* data, std::size_t count, float factor) {
  HWY_DYNAMIC_DISPATCH(scale_fetching)(data, count, factor);
}

}  // namespace mrrope::bench
#endif

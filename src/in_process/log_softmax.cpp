// SPDX-License-Identifier: MIT
#include "in_process/log_softmax.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "in_process/log_softmax.cpp"
#include <hwy/foreach_target.h>  // compiles what follows once per instruction set
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace mrrope::eval::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The sum of a float vector, added in double.
template <class D, class V>
double sum_in_double(D d, V v) {
  HWY_ALIGN float lanes[hn::MaxLanes(d)];  // NOLINT(modernize-avoid-c-arrays): aligned
  hn::Store(v, d, lanes);
  double sum = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) sum += static_cast<double>(lanes[i]);
  return sum;
}

// NaN if one of them is: maxima of instruction sets differ in what they make of it.
float largest(const float* x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  float most = -std::numeric_limits<float>::infinity();
  bool numbers = true;
  if (n >= lanes) {
    auto m = hn::Set(d, most);
    auto equal = hn::Eq(m, m);
    for (; i + lanes <= n; i += lanes) {
      const auto v = hn::LoadU(d, x + i);
      equal = hn::And(equal, hn::Eq(v, v));
      m = hn::Max(m, v);
    }
    numbers = hn::AllTrue(d, equal);
    most = hn::GetLane(hn::MaxOfLanes(d, m));
  }
  for (; i < n; ++i) {
    numbers = numbers && !std::isnan(x[i]);
    most = x[i] > most ? x[i] : most;
  }
  return numbers ? most : std::numeric_limits<float>::quiet_NaN();
}

// exp(x - shift); of less than -104 it is 0 in float32, and Exp wants finite arguments.
template <class D, class V>
V shifted_exp(D d, V x, float shift) {
  return hn::Exp(d, hn::Max(hn::Sub(x, hn::Set(d, shift)), hn::Set(d, -104.0F)));
}

// The sum over i of term(i, part), which adds a vector of terms, and of tail(i) for what fills no vector. Short sums in
// float32, then double: 16 terms lose at most 16 * 2^-24 of their size.
template <class Term, class Tail>
double sum_terms(std::size_t n, Term term, Tail tail) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  double total = 0;
  std::size_t i = 0;
  while (i + lanes <= n) {
    auto part = hn::Zero(d);
    for (int k = 0; k < 16 && i + lanes <= n; ++k, i += lanes) part = term(i, part);
    total += sum_in_double(d, part);
  }
  for (; i < n; ++i) total += tail(i);
  return total;
}

double sum_exp(const float* x, std::size_t n, float shift) {
  const hn::ScalableTag<float> d;
  return sum_terms(
      n, [=](std::size_t i, auto part) HWY_ATTR { return hn::Add(part, shifted_exp(d, hn::LoadU(d, x + i), shift)); },
      [=](std::size_t i) { return std::exp(static_cast<double>(x[i]) - static_cast<double>(shift)); });
}

// sum exp(p - shift) * (p - q); a p of no weight adds nothing.
double weighted_difference(const float* p, const float* q, std::size_t n, float shift) {
  const hn::ScalableTag<float> d;
  return sum_terms(
      n,
      [=](std::size_t i, auto part) HWY_ATTR {
        const auto a = hn::LoadU(d, p + i);
        const auto weight = shifted_exp(d, a, shift);
        const auto difference = hn::Sub(a, hn::LoadU(d, q + i));
        return hn::MulAdd(weight, hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), difference), part);
      },
      [=](std::size_t i) {
        const double weight = std::exp(static_cast<double>(p[i]) - static_cast<double>(shift));
        return weight == 0 ? 0 : weight * (static_cast<double>(p[i]) - static_cast<double>(q[i]));
      });
}

}  // namespace
}  // namespace mrrope::eval::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mrrope::eval {

HWY_EXPORT(largest);
HWY_EXPORT(sum_exp);
HWY_EXPORT(weighted_difference);

double log_sum_exp(std::span<const float> logits) {
  const float shift = HWY_DYNAMIC_DISPATCH(largest)(logits.data(), logits.size());
  if (!std::isfinite(shift)) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(shift) + std::log(HWY_DYNAMIC_DISPATCH(sum_exp)(logits.data(), logits.size(), shift));
}

double kl_divergence(std::span<const float> p, std::span<const float> q) {
  const float shift = HWY_DYNAMIC_DISPATCH(largest)(p.data(), p.size());
  const double lse_p = log_sum_exp(p);
  const double total = HWY_DYNAMIC_DISPATCH(weighted_difference)(p.data(), q.data(), p.size(), shift);
  // E_p[ln p - ln q] = E_p[p - q] - lse_p + lse_q
  return total * std::exp(static_cast<double>(shift) - lse_p) - lse_p + log_sum_exp(q);
}

}  // namespace mrrope::eval
#endif

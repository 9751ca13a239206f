// SPDX-License-Identifier: MIT
//
// References
//   Su et al. RoFormer: Enhanced Transformer with Rotary Position Embedding. arXiv:2104.09864v5, section 3.4.3.
//   Tian et al. MrRoPE: Mixed-radix Rotary Position Embedding. ICLR 2026. Eq. 7.
#include "mrrope/analysis.h"

#include <cassert>
#include <cmath>
#include <complex>
#include <cstddef>

#include "theory/precise.h"

namespace mrrope {

double attention_decay(std::span<const double> inv_freq, double distance) noexcept {
  std::complex<double> partial = 0;
  double sum = 0;
  for (const double theta : inv_freq) {
    partial += std::polar(1.0, distance * theta);
    sum += std::abs(partial);
  }
  const auto n = static_cast<double>(inv_freq.size());
  return sum / (n * (n + 1) / 2);  // at distance 0 the partial sums are 1, 2, …, n
}

double position_estimate(std::span<const double> inv_freq, double position) noexcept {
  constexpr auto two_pi = static_cast<double>(theory::kTwoPi);
  double estimate = 0;
  for (const double theta : inv_freq) {
    if (theta > 0) estimate += std::fmod(position * theta, two_pi) / theta;
  }
  return estimate;
}

Exposure exposure(const Spectrum& spectrum, std::span<const double> pair_factors, double factor) {
  assert(pair_factors.size() == spectrum.inv_freq.size() && factor >= 1);
  // Factors that are S up to rounding leave nothing unseen.
  constexpr double tolerance = 1e-9;
  Exposure result;
  for (int i = 0; i < spectrum.pairs(); ++i) {
    const double s = pair_factors[static_cast<std::size_t>(i)];
    const double r = turns(spectrum, i);
    const double ratio = factor / s;  // largest angle at L' over largest angle in training
    if (r > 0 && r < 1 && ratio > 1 + tolerance) {
      ++result.unseen_pairs;
      result.unseen_ratio = std::fmax(result.unseen_ratio, ratio);
    }
    const double drift = r * std::fabs(1 - 1 / s);
    if (drift > result.short_drift_turns) {
      result.short_drift_turns = drift;
      result.short_drift_pair = i;
    }
  }
  return result;
}

}  // namespace mrrope

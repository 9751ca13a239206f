// SPDX-License-Identifier: MIT
//
// Changes to a finished table. They read the trained spectrum (which pairs are slow?) and the factors so far.
//
// References
//   CoPE: Clipped RoPE as A Scalable Free Lunch for Long Context LLMs. 2026. arXiv:2602.05258
//   Pal et al. Giraffe: Adventures in Expanding Context Lengths in LLMs. 2023. arXiv:2308.10882 (truncation)
//   Wang et al. Resonance RoPE: Improving Context Length Generalization of Large Language Models. 2024.
//     arXiv:2403.00071
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "theory/laws.h"
#include "theory/precise.h"

namespace mrrope::theory {

namespace {

// Pairs that complete a turn in training. Wavelengths grow with i in every trained table we know; counting rather than
// searching keeps the answer defined for any other.
int pairs_with_full_turn(const Spectrum& spectrum) {
  int count = 0;
  for (int i = 0; i < spectrum.pairs(); ++i) count += turns_extended(spectrum, i) >= 1 ? 1 : 0;
  return count;
}

}  // namespace

// [T26] 2/(1 + cos x) = 1/sin^2((pi - x)/2), which keeps its digits where cos x is near -1.
void modify(const Spectrum& spectrum, std::span<double> pair_factors, const Cope& modifier) {
  const int n = spectrum.pairs();
  const int faded = modifier.pairs.value_or(n - pairs_with_full_turn(spectrum));
  assert(faded >= 0 && faded <= n);
  const std::span<double> tail = pair_factors.last(static_cast<std::size_t>(faded));
  for (int k = 0; k < faded; ++k) {
    double& s = tail[static_cast<std::size_t>(k)];
    if (k == faded - 1) {
      s = kNoRotation;
      break;
    }
    const long double sine = std::sin(std::numbers::pi_v<long double> / 2 * (faded - 1 - k) / (faded - 1));
    s = std::min(kNoRotation, static_cast<double>(s / (sine * sine)));
  }
}

// [T27]
void modify(const Spectrum& spectrum, std::span<double> pair_factors, const Clip& modifier) {
  const int keep = modifier.keep.value_or(pairs_with_full_turn(spectrum));
  assert(keep >= 0 && keep <= spectrum.pairs());
  std::fill(pair_factors.begin() + keep, pair_factors.end(), kNoRotation);
}

// [T28] s' = theta round(w) / 2 pi with w = 2 pi s / theta. A wavelength never rounds to 0 because w >= 2 pi s, s >
// 0.08 in any sane table; smaller ones keep one token.
void modify(const Spectrum& spectrum, std::span<double> pair_factors, const Resonance& /*modifier*/) {
  for (std::size_t i = 0; i < pair_factors.size(); ++i) {
    const double theta = spectrum.inv_freq[i];
    double& s = pair_factors[i];
    if (theta == 0 || s >= kNoRotation) continue;
    const long double tokens = std::max(1.0L, std::round(kTwoPi * s / theta));
    s = static_cast<double>(tokens * theta / kTwoPi);
  }
}

}  // namespace mrrope::theory

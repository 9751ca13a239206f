// SPDX-License-Identifier: MIT
//
// What a table does to a model, before any model is run: how far similar tokens still attract each other, which angles
// are new, how far phases move from training, how well positions can be read back.
//
//   Spectrum s = plain_spectrum(128, 10000, 4096);
//   Table t = table(s, 16, MrRopePro{});
//   std::vector<double> theta = inv_freq(s, t.pair_factors);
//   BoundZeros z = bound_zeros(theta, band(s));    // z.first_zero == 14239
//   Exposure e = exposure(s, t.pair_factors, 16);  // e.unseen_pairs == 0
//
// Theory, not measurement: `mrrope eval` measures. Source: docs/theory.md [T8], [T30]-[T35].
// Pure functions, safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mrrope/spectrum.h"

namespace mrrope {

// ---- Bound (Men et al. 2024, arXiv:2405.14591; MrRoPE section 4.4) -------------------------------------------------

// B(m) = sum_i cos(m theta_i): how much more a query attracts an equal key than a random one at distance m. [T30]
double bound(std::span<const double> inv_freq, double distance) noexcept;

// B(m)/n is also the correlation of a random query-key score at distance m with the same pair at distance 0, for
// independent normal q and k: how much of a score survives the distance. [T32]
double score_correlation(std::span<const double> inv_freq, double distance) noexcept;

// The first distances >= 1 at which B is <= 0: of all pairs, of the band's digits only (low <= i < high, those whose
// radix an extension changes), and of B averaged over the `window` distances m - window/2 … m + window/2 - 1 (those
// >= 1). Empty: none up to `limit`. The first zero is a single dip of an oscillating sum; the smoothed one is where the
// trend crosses. The paper's figure quotes a bound without saying which; docs/theory.md compares. [T30], [T31]
struct BoundZeros {
  std::optional<std::int64_t> first_zero;
  std::optional<std::int64_t> band_first_zero;
  std::optional<std::int64_t> smoothed_first_zero;

  bool operator==(const BoundZeros&) const = default;
};

// Exact integer scan; a value closer to zero than the rounding of the fast sum is evaluated again term by term.
// Domain: limit >= 1, window even and >= 2. Cost: about 40 ms for 64 pairs up to 2^20, less when all zeros come early.
BoundZeros bound_zeros(std::span<const double> inv_freq, const Band& band, std::int64_t limit = std::int64_t{1} << 20,
                       int window = 512);

// B(1), B(2), …, B(limit): the data of a plot. Pass a part of the spectrum for the band's share.
// Domain: limit >= 0. Cost: as bound_zeros, and 8 bytes per distance. Error: as a double sum, below 1e-8 at 2^20.
std::vector<double> bound_curve(std::span<const double> inv_freq, std::int64_t limit);

// The mean over j of |sum_{i<j} exp(i m theta_i)|, relative to its value at m = 0: the factor in RoFormer's bound on
// any attention score (arXiv:2104.09864v5, section 3.4.3), the usual picture of long-term decay. [T33]
double attention_decay(std::span<const double> inv_freq, double distance) noexcept;

// ---- Positions -----------------------------------------------------------------------------------------------------

// m_hat = sum_i w_i ((m theta_i) mod 2 pi), w_i = 1/theta_i (which is beta^i s_i): the position read back from the
// angles. Linear in m as far as the system has range. The paper prints two weights; only this one gives its figure.
// [T8] Pairs that stand still say nothing and are left out.
double position_estimate(std::span<const double> inv_freq, double position) noexcept;

// ---- What is new, and what moves --------------------------------------------------------------------------------

struct Exposure {
  // Pairs that made less than one turn in training and meet angles beyond it at the target length. [T34]
  int unseen_pairs = 0;
  // The largest such angle over the largest trained one; 1 if nothing is unseen.
  double unseen_ratio = 1;
  // Drift: over a text of the trained length, phases move from where training put them by up to this many turns,
  // max_i r_i |1 - 1/s_i|. 0 for an unchanged table. Not what short texts lose: see docs/theory.md. [T35]
  double short_drift_turns = 0;
  // The pair that moves most.
  int short_drift_pair = 0;

  bool operator==(const Exposure&) const = default;
};

// Domain: one factor per pair of the spectrum, factor >= 1.
Exposure exposure(const Spectrum& spectrum, std::span<const double> pair_factors, double factor);

}  // namespace mrrope

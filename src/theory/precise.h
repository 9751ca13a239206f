// SPDX-License-Identifier: MIT
//
// Where a plain double evaluation of the theory would lose digits, and how little it takes to keep them.
//
// Two places are ill-conditioned. (1) b^(-i/n): rounding the exponent costs ln b = 9 … 14 times as many ulps as pow
// itself. (2) a ramp over turns: at its slow end a relative error of r_i is magnified
// (S-1) beta_slow/(beta_fast-beta_slow) times, 21-fold for llama3 at S = 64. Carrying only the exponent, r_i and the
// band's edges in long double removes both; the result is rounded to double once. Where long double is no wider than
// double the functions still work, with the plain accuracy.
#pragma once

#include <cmath>
#include <numbers>

#include "mrrope/spectrum.h"

namespace mrrope::theory {

inline constexpr long double kTwoPi = 2 * std::numbers::pi_v<long double>;

// base^exponent for an exponent known beyond double precision: pow at the rounded exponent, then the first-order effect
// of what the rounding dropped. Error: pow's own plus half an ulp. Cost: one pow, one log.
inline double pow_extended(double base, long double exponent) {
  const auto head = static_cast<double>(exponent);
  const auto tail = static_cast<double>(exponent - static_cast<long double>(head));
  const double power = std::pow(base, head);
  return tail == 0 ? power : power + power * (tail * std::log(base));
}

// r_i [T3]. For a plain spectrum from base and index, not from the rounded theta_i.
inline long double turns_extended(const Spectrum& spectrum, int pair) {
  const auto index = static_cast<std::size_t>(pair);
  const long double theta = spectrum.plain ? std::pow(static_cast<long double>(spectrum.base),
                                                      -static_cast<long double>(pair) / spectrum.pairs())
                                           : static_cast<long double>(spectrum.inv_freq[index]);
  return static_cast<long double>(spectrum.context_trained) * theta / kTwoPi;
}

// The band [T10] before its edges are rounded to double, which matters only for BandEdges::truncate == false.
struct ExtendedBand {
  long double low = 0;
  long double high = 0;
};
ExtendedBand band_extended(const Spectrum& spectrum, const BandEdges& edges) noexcept;

}  // namespace mrrope::theory

// SPDX-License-Identifier: MIT
#include "mrrope/spectrum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "theory/precise.h"

namespace mrrope {

Spectrum plain_spectrum(int rotary_dim, double base, double context_trained) {
  assert(rotary_dim >= 2 && rotary_dim % 2 == 0 && base > 1 && context_trained > 0);
  const int n = rotary_dim / 2;
  Spectrum spectrum{.base = base, .context_trained = context_trained, .inv_freq = {}, .plain = true};
  spectrum.inv_freq.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    spectrum.inv_freq.push_back(theory::pow_extended(base, -static_cast<long double>(i) / n));
  }
  return spectrum;
}

Spectrum scaled_spectrum(Spectrum spectrum, std::span<const double> factors) {
  assert(factors.size() == spectrum.inv_freq.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    assert(factors[i] > 0);
    spectrum.inv_freq[i] = factors[i] >= kNoRotation ? 0 : spectrum.inv_freq[i] / factors[i];
  }
  spectrum.plain = false;
  return spectrum;
}

double turns(const Spectrum& spectrum, int pair) noexcept {
  return static_cast<double>(theory::turns_extended(spectrum, pair));
}

double wavelength(const Spectrum& spectrum, int pair) noexcept {
  const double theta = spectrum.inv_freq[static_cast<std::size_t>(pair)];
  return theta > 0 ? static_cast<double>(theory::kTwoPi) / theta : std::numeric_limits<double>::infinity();
}

namespace {

long double pair_at_turns_extended(const Spectrum& spectrum, long double turns) {
  const int n = spectrum.pairs();
  const long double slope = std::log(static_cast<long double>(spectrum.base)) / n;  // of -ln r_i over i
  if (spectrum.plain) {
    return std::log(static_cast<long double>(spectrum.context_trained) / (theory::kTwoPi * turns)) / slope;
  }
  // Walk down to the first pair that makes `turns` or less; ln r_i is a straight line between neighbours.
  const auto above = [&](int i) { return std::log(theory::turns_extended(spectrum, i) / turns); };
  long double previous = 0;
  for (int i = 0; i < n; ++i) {
    if (spectrum.inv_freq[static_cast<std::size_t>(i)] == 0) return i == 0 ? 0 : i - 1 + previous / slope;
    const long double current = above(i);
    if (current <= 0) return i == 0 ? current / slope : i - 1 + previous / (previous - current);
    previous = current;
  }
  return n - 1 + previous / slope;
}

}  // namespace

double pair_at_turns(const Spectrum& spectrum, double turns) noexcept {
  assert(turns > 0);
  return static_cast<double>(pair_at_turns_extended(spectrum, turns));
}

theory::ExtendedBand theory::band_extended(const Spectrum& spectrum, const BandEdges& edges) noexcept {
  long double low = 0;
  long double high = 0;
  if (edges.low) {
    low = *edges.low;
  } else {
    low = pair_at_turns_extended(spectrum, edges.beta_fast);
    low = std::max(0.0L, edges.truncate ? std::floor(low) : low);
  }
  if (edges.high) {
    high = *edges.high;
  } else {
    high = pair_at_turns_extended(spectrum, edges.beta_slow);
    high = std::min(2.0L * spectrum.pairs() - 1, edges.truncate ? std::ceil(high) : high);
  }
  return {low, std::max(low, high)};
}

Band band(const Spectrum& spectrum, const BandEdges& edges) noexcept {
  const theory::ExtendedBand exact = theory::band_extended(spectrum, edges);
  return {static_cast<double>(exact.low), static_cast<double>(exact.high)};
}

}  // namespace mrrope

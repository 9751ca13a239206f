// SPDX-License-Identifier: MIT
//
// The methods of the MrRoPE paper: radix factors lambda = S^epsilon over the band, whose epsilons sum to 1.
//
//   s_i = S^E(k),  k = i - low,  E(0) = 0,  E(N) = 1;  1 below the band, S above it.
//
// References
//   Tian, Zhu, Liu, Wang, Wang. MrRoPE: Mixed-radix Rotary Position Embedding. ICLR 2026. Section 3.2, Eq. 13-16.
//   Its 1-based j, d_l, d_h are i+1, low+1, high+1 here; docs/theory.md section 5.
#include <cmath>
#include <cstddef>

#include "theory/laws.h"
#include "theory/precise.h"

namespace mrrope::theory {

namespace {

// `exponent(k, N)` is E for whole 0 < k < N.
template <class Exponent>
Table over_band(const LawInput& in, const BandEdges& edges, const MScale& attention, Exponent exponent) {
  const ExtendedBand band = band_extended(in.spectrum, whole_edges(edges));
  const auto low = static_cast<int>(band.low);
  const int width = static_cast<int>(band.high) - low;
  Table table;
  table.attention_scale = attention_scale(in.factor, attention);
  table.pair_factors.reserve(in.spectrum.inv_freq.size());
  for (int i = 0; i < in.spectrum.pairs(); ++i) {
    const int k = i - low;
    table.pair_factors.push_back(k <= 0 ? 1 : k >= width ? in.factor : pow_extended(in.factor, exponent(k, width)));
  }
  return table;
}

}  // namespace

// [T22] epsilon constant.
Table make_table(const LawInput& in, const MrRopeUni& law) {
  return over_band(in, law.band, law.attention, [](long double k, long double n) { return k / n; });
}

// [T23] epsilon_k = 2k/(N(N+1)), k = 1 … N: an arithmetic progression.
Table make_table(const LawInput& in, const MrRopePro& law) {
  return over_band(in, law.band, law.attention,
                   [](long double k, long double n) { return k * (k + 1) / (n * (n + 1)); });
}

// [T24] epsilon_k proportional to k^p. k counts up, so the running sum is carried from pair to pair.
Table make_table(const LawInput& in, const MrRopePower& law) {
  const auto power = [&](int d) { return std::pow(static_cast<long double>(d), static_cast<long double>(law.p)); };
  long double total = 0;
  long double sum = 0;
  return over_band(in, law.band, law.attention, [&](int k, int width) {
    if (total == 0) {
      for (int d = 1; d <= width; ++d) total += power(d);
      for (int d = 1; d < k; ++d) sum += power(d);
    }
    sum += power(k);
    return sum / total;
  });
}

// [T25] The epsilons of mrrope-pro in reverse order.
Table make_table(const LawInput& in, const MrRopeMirror& law) {
  return over_band(in, law.band, law.attention,
                   [](long double k, long double n) { return k * (2 * n + 1 - k) / (n * (n + 1)); });
}

}  // namespace mrrope::theory

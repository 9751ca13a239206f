// SPDX-License-Identifier: MIT
//
// Laws that blend "leave this pair alone" and "slow it down by S" along a ramp. The published YaRN ramps over the turns
// a pair makes in training; the deployed one over the pair index. They are different methods, often further apart than
// MrRoPE is from either: docs/theory.md section 7.
//
// References
//   Peng, Quesnelle, Fan, Shippole. YaRN: Efficient Context Window Extension of Large Language Models. 2023.
//     arXiv:2309.00071v3, section 3.2 (ramp over turns), 3.4 (attention scale)
//   Grattafiori et al. The Llama 3 Herd of Models. 2024. arXiv:2407.21783; the ramp itself is in the released code.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "theory/laws.h"
#include "theory/precise.h"

namespace mrrope::theory {

namespace {

// Both ramps are 1/s = w/S + (1-w) with w = slow/(slow + fast), the distances to the two ends of the ramp. Written as
// one quotient it has no cancellation, and is exactly 1 and S at the ends and exactly 1 for S = 1.
double blend(long double slow, long double fast, double factor) {
  if (slow <= 0) return 1;
  if (fast <= 0) return factor;
  return static_cast<double>(factor * (slow + fast) / (slow + factor * fast));
}

// [T16] slow = i - low, fast = high - i.
std::vector<double> ramp_over_pairs(const Spectrum& spectrum, double factor, const BandEdges& edges) {
  const ExtendedBand band = band_extended(spectrum, edges);
  std::vector<double> factors;
  factors.reserve(spectrum.inv_freq.size());
  for (int i = 0; i < spectrum.pairs(); ++i) factors.push_back(blend(i - band.low, band.high - i, factor));
  return factors;
}

// [T17], [T20] slow = fast_turns - r_i, fast = r_i - slow_turns.
std::vector<double> ramp_over_turns(const Spectrum& spectrum, double factor, double slow_turns, double fast_turns) {
  std::vector<double> factors;
  factors.reserve(spectrum.inv_freq.size());
  for (int i = 0; i < spectrum.pairs(); ++i) {
    const long double turns = turns_extended(spectrum, i);
    factors.push_back(blend(fast_turns - turns, turns - slow_turns, factor));
  }
  return factors;
}

}  // namespace

double attention_scale(double factor, const MScale& attention) {
  if (factor <= 1) return 1;
  const double log_factor = std::log(factor);
  const auto magnitude = [&](double k) { return 0.1 * k * log_factor + 1; };
  return magnitude(attention.mscale) / magnitude(attention.mscale_all_dim);
}

Table make_table(const LawInput& in, const NtkByParts& law) {
  return {ramp_over_turns(in.spectrum, in.factor, law.beta_slow, law.beta_fast), 1};
}

Table make_table(const LawInput& in, const Yarn& law) {
  return {ramp_over_pairs(in.spectrum, in.factor, law.band), attention_scale(in.factor, law.attention)};
}

Table make_table(const LawInput& in, const YarnRotations& law) {
  return {ramp_over_turns(in.spectrum, in.factor, law.beta_slow, law.beta_fast),
          attention_scale(in.factor, law.attention)};
}

// [T19]
Table make_table(const LawInput& in, const DynamicYarn& law) {
  const double factor = std::max(1.0, in.length / in.spectrum.context_trained);
  return make_table({in.spectrum, factor, in.length}, Yarn{law.band, law.attention});
}

Table make_table(const LawInput& in, const Llama3& law) {
  return {ramp_over_turns(in.spectrum, in.factor, law.low_freq_factor, law.high_freq_factor), 1};
}

}  // namespace mrrope::theory

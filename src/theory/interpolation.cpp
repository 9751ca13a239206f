// SPDX-License-Identifier: MIT
//
// Laws that treat all pairs by one formula, and laws that are given as lists.
//
// References
//   Chen, Wong, Chen, Tian. Extending Context Window of Large Language Models via Positional Interpolation. 2023.
//     arXiv:2306.15595v2
//   bloc97. NTK-Aware Scaled RoPE allows LLaMA models to have extended context size. 2023.
//   Xiong et al. Effective Long-Context Scaling of Foundation Models. 2023. arXiv:2309.16039v3
//   Ding et al. LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens. 2024. arXiv:2402.13753v1
#include <cassert>
#include <cmath>
#include <cstddef>

#include "theory/laws.h"
#include "theory/precise.h"

namespace mrrope::theory {

namespace {

// s_i = scale^(i/divisor) for all pairs: a change of base. [T12], [T13]
Table geometric(int pairs, double scale, int divisor) {
  Table table;
  table.pair_factors.reserve(static_cast<std::size_t>(pairs));
  for (int i = 0; i < pairs; ++i) {
    table.pair_factors.push_back(i == 0 ? 1 : pow_extended(scale, static_cast<long double>(i) / divisor));
  }
  return table;
}

Table constant(int pairs, double factor) { return {std::vector<double>(static_cast<std::size_t>(pairs), factor), 1}; }

}  // namespace

Table make_table(const LawInput& in, const None& /*law*/) { return constant(in.spectrum.pairs(), 1); }

// [T11]
Table make_table(const LawInput& in, const Linear& /*law*/) { return constant(in.spectrum.pairs(), in.factor); }

// [T12] A single pair has no last pair to carry the factor: it stays.
Table make_table(const LawInput& in, const Ntk& /*law*/) {
  return geometric(in.spectrum.pairs(), in.factor, in.spectrum.pairs() - 1);
}

// [T13]
Table make_table(const LawInput& in, const Abf& law) {
  assert(law.base > 1);
  return geometric(in.spectrum.pairs(), law.base / in.spectrum.base, in.spectrum.pairs());
}

// [T14] b'/b = b^(ln S / ln(L/2pi)), written as a power of S so that S = 1 is exactly the identity.
Table make_table(const LawInput& in, const GradientBase& /*law*/) {
  const int n = in.spectrum.pairs();
  const long double exponent = std::log(static_cast<long double>(in.spectrum.base)) /
                               std::log(static_cast<long double>(in.spectrum.context_trained) / kTwoPi);
  Table table = constant(n, 1);
  for (int i = 1; i < n; ++i) {
    table.pair_factors[static_cast<std::size_t>(i)] = pow_extended(in.factor, exponent * i / n);
  }
  return table;
}

// [T15] Up to the trained length nothing changes.
Table make_table(const LawInput& in, const DynamicNtk& /*law*/) {
  const long double ratio = static_cast<long double>(in.length) / in.spectrum.context_trained;
  const long double factor = ratio <= 1 ? 1 : in.factor * (ratio - 1) + 1;
  return make_table({in.spectrum, static_cast<double>(factor), in.length}, Ntk{});
}

// [T21] The scale does not depend on which of the two lists is in use.
Table make_table(const LawInput& in, const LongRope& law) {
  const auto& factors = in.length > in.spectrum.context_trained ? law.long_factors : law.short_factors;
  assert(factors.size() == in.spectrum.inv_freq.size());
  const double scale = in.factor <= 1 ? 1 : std::sqrt(1 + std::log(in.factor) / std::log(in.spectrum.context_trained));
  return {factors, scale};
}

Table make_table(const LawInput& in, const Custom& law) {
  assert(law.factors.size() == in.spectrum.inv_freq.size());
  (void)in;
  return {law.factors, 1};
}

}  // namespace mrrope::theory

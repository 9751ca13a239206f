// SPDX-License-Identifier: MIT
//
// One function per law, private to theory/. methods.cpp chooses among them; each file below holds one idea:
//   interpolation.cpp  one formula over all pairs: linear, ntk, abf, …, and given lists
//   ramps.cpp          a ramp between "leave alone" and "slow down by S": yarn and llama3
//   mixed_radix.cpp    radix factors over the band: mrrope-*
//   modifiers.cpp      changes to a finished table
#pragma once

#include <span>

#include "mrrope/methods.h"

namespace mrrope::theory {

struct LawInput {
  const Spectrum& spectrum;
  double factor;  // S >= 1
  double length;  // tokens of the sequence the table is for
};

Table make_table(const LawInput& in, const None& law);
Table make_table(const LawInput& in, const Linear& law);
Table make_table(const LawInput& in, const Ntk& law);
Table make_table(const LawInput& in, const Abf& law);
Table make_table(const LawInput& in, const GradientBase& law);
Table make_table(const LawInput& in, const DynamicNtk& law);
Table make_table(const LawInput& in, const NtkByParts& law);
Table make_table(const LawInput& in, const Yarn& law);
Table make_table(const LawInput& in, const YarnRotations& law);
Table make_table(const LawInput& in, const DynamicYarn& law);
Table make_table(const LawInput& in, const Llama3& law);
Table make_table(const LawInput& in, const LongRope& law);
Table make_table(const LawInput& in, const MrRopeUni& law);
Table make_table(const LawInput& in, const MrRopePro& law);
Table make_table(const LawInput& in, const MrRopePower& law);
Table make_table(const LawInput& in, const MrRopeMirror& law);
Table make_table(const LawInput& in, const Custom& law);

void modify(const Spectrum& spectrum, std::span<double> pair_factors, const Cope& modifier);
void modify(const Spectrum& spectrum, std::span<double> pair_factors, const Clip& modifier);
void modify(const Spectrum& spectrum, std::span<double> pair_factors, const Resonance& modifier);

// The radix laws are defined on whole band edges only (the authors' code truncates): BandEdges::truncate is not theirs.
inline BandEdges whole_edges(BandEdges edges) {
  edges.truncate = true;
  return edges;
}

// a of YaRN and its relatives. [T18]
double attention_scale(double factor, const MScale& attention);

}  // namespace mrrope::theory

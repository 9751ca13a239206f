// SPDX-License-Identifier: MIT
//
// What the pairs of the band add to attention scores, by distance: the paper's figure 6, for any model and text.
//
//   Result<std::vector<LayerVectors>> vectors = context.read_vectors(tokens, layers);   // one short text
//   AttentionCurve c = attention_by_distance(*vectors, plan.groups[0], 20, 45, distances, {});
//
// A score is a sum over pairs of Re(q_i conj(k_i) e^(i theta_i d)) a^2 / sqrt(D). Only its phase knows the distance d,
// so queries and keys of a short text, combined at random and set d apart, meet the angles of a text of any length:
// 128K tokens are not run. What this does not show: how q and k themselves would change in a text of that length. Pure
// functions. Cost: samples x distances x pairs of the band, a second for 2000 x 200 x 30 and seven plans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mrrope/plan.h"
#include "mrrope/runtime.h"

namespace mrrope::eval {

struct AttentionOptions {
  int samples = 2000;       // combinations of a query and a key, the same at every distance and for every plan
  std::uint64_t seed = 42;  // that chooses them
};

// Over the samples, per distance: mean, standard deviation, and the quartiles.
struct AttentionCurve {
  std::vector<double> mean, deviation, lower, upper;
};

// The part of the scores that pairs first … last make, both included. Domain: as many pairs in the vectors as in
// `group`; first <= last.
AttentionCurve attention_by_distance(std::span<const LayerVectors> layers, const GroupPlan& group, int first, int last,
                                     std::span<const double> distances, const AttentionOptions& options);

}  // namespace mrrope::eval

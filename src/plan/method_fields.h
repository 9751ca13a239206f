// SPDX-License-Identifier: MIT
//
// The parameters of every law and modifier, listed once. The catalogue, the spelling, JSON and the range checks are all
// visitors of these lists: a new method is a struct in methods.h, its formula in theory/, and its lines here and in
// catalogue.cpp.
//
//   visit_fields(law, [](const Field& field, auto& member) { … });
//
//   visit_shared(method, …);   // what every method takes
//
// Members are double, bool, std::optional<int>, std::optional<double> or std::vector<double>.
#pragma once

#include <string_view>
#include <type_traits>

#include "mrrope/methods.h"

namespace mrrope::plan {

struct Field {
  std::string_view name;
  std::string_view meaning;
  double min = 0;
  double max = 0;
  bool required = false;
};

inline constexpr double kMaxTurns = 1e9;
inline constexpr double kMaxPair = 1 << 16;

namespace fields {

inline constexpr Field kBetaFast{"beta_fast", "pairs with more turns in training are left alone", 1e-6, kMaxTurns};
inline constexpr Field kBetaSlow{"beta_slow", "pairs with fewer turns get the whole factor S", 1e-6, kMaxTurns};
inline constexpr Field kLow{"low", "last pair left alone (in place of beta_fast)", 0, kMaxPair};
inline constexpr Field kHigh{"high", "first pair with all of S (in place of beta_slow)", 0, kMaxPair};
inline constexpr Field kTruncate{"truncate", "round the band's edges to whole pairs", 0, 1};
inline constexpr Field kMScale{"mscale", "k in a = (0.1 k ln S + 1)/(0.1 k' ln S + 1)", 0, 100};
inline constexpr Field kMScaleAllDim{"mscale_all_dim", "k' of the same", 0, 100};
inline constexpr Field kLowFreq{"low_freq_factor", "pairs with fewer turns get the whole factor S", 1e-6, kMaxTurns};
inline constexpr Field kHighFreq{"high_freq_factor", "pairs with more turns are left alone", 1e-6, kMaxTurns};
inline constexpr Field kBase{"base", "the new base b'", 1.0000001, 1e15, true};
inline constexpr Field kPower{"p", "steepness: 0 mrrope-uni, 1 mrrope-pro", -16, 16};
inline constexpr Field kShort{"short_factors", "factors for sequences up to the trained length", 1e-6, kNoRotation,
                              true};
inline constexpr Field kLong{"long_factors", "factors for longer sequences", 1e-6, kNoRotation, true};
inline constexpr Field kFactors{"factors", "one factor per pair", 1e-6, kNoRotation, true};
inline constexpr Field kCopePairs{"pairs", "pairs to fade out, from the slowest", 0, kMaxPair};
inline constexpr Field kClipKeep{"keep", "pairs that go on rotating, from the fastest", 0, kMaxPair};
inline constexpr Field kAttentionScale{"attention_scale", "replaces the method's own a", 1e-6, 1e6};
inline constexpr Field kFactor{"factor", "S of the table, in place of L'/L", 1, 1 << 20};

template <class Band, class Visitor>
void visit_edges(Band& band, Visitor& visit) {
  visit(kBetaFast, band.beta_fast);
  visit(kBetaSlow, band.beta_slow);
  visit(kLow, band.low);
  visit(kHigh, band.high);
}

template <class MScaleT, class Visitor>
void visit_attention(MScaleT& attention, Visitor& visit) {
  visit(kMScale, attention.mscale);
  visit(kMScaleAllDim, attention.mscale_all_dim);
}

}  // namespace fields

// Of every method, not of a law. `method` is a Method, const or not.
template <class M, class Visitor>
void visit_shared(M& method, Visitor&& visit) {
  visit(fields::kAttentionScale, method.attention_scale);
  visit(fields::kFactor, method.factor);
}

// `law` is any alternative of Law or Modifier, const or not.
template <class L, class Visitor>
void visit_fields(L& law, Visitor&& visit) {
  using namespace fields;
  using T = std::remove_const_t<L>;
  // Parameters of the law itself
  if constexpr (std::is_same_v<T, Abf>) visit(kBase, law.base);
  if constexpr (std::is_same_v<T, MrRopePower>) visit(kPower, law.p);
  if constexpr (std::is_same_v<T, Llama3>) {
    visit(kLowFreq, law.low_freq_factor);
    visit(kHighFreq, law.high_freq_factor);
  }
  if constexpr (std::is_same_v<T, LongRope>) {
    visit(kShort, law.short_factors);
    visit(kLong, law.long_factors);
  }
  if constexpr (std::is_same_v<T, Custom>) visit(kFactors, law.factors);
  if constexpr (std::is_same_v<T, Cope>) visit(kCopePairs, law.pairs);
  if constexpr (std::is_same_v<T, Clip>) visit(kClipKeep, law.keep);
  // The band and the attention scale, where a law has them
  if constexpr (requires { law.beta_fast; }) {
    visit(kBetaFast, law.beta_fast);
    visit(kBetaSlow, law.beta_slow);
  }
  if constexpr (requires { law.band; }) {
    visit_edges(law.band, visit);
    // The radix laws need whole edges; only the index ramp is defined between pairs.
    if constexpr (std::is_same_v<T, Yarn> || std::is_same_v<T, DynamicYarn>) visit(kTruncate, law.band.truncate);
  }
  if constexpr (requires { law.attention; }) visit_attention(law.attention, visit);
}

}  // namespace mrrope::plan

// SPDX-License-Identifier: MIT
//
// What a model learned: the angular speed of each rotated pair, and the length it was trained on.
//
// RoPE turns pair i of a query or key by theta_i radians per token, theta_i = b^(-i/n). During training on L tokens
// pair i makes r_i = L theta_i / 2 pi turns. Pairs that made many turns know every angle; pairs that made less than one
// meet new angles as soon as the text is longer. All extension methods follow from these two lists.
//
//   Spectrum s = plain_spectrum(128, 10000, 4096);   // Llama 2
//   turns(s, 0);                                     // 651.9
//   Band b = band(s);                                // pairs 20 … 46: the ones in between
//
// A model that ships a scaling of its own (Llama 3.1, Phi-3) was trained with theta_i / f_i: build its spectrum with
// scaled_spectrum, and everything below speaks of what the model really saw.
//
// Source: docs/theory.md [T1]-[T3], [T9], [T10]. Pure functions, safe to call from any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace mrrope {

// The factor of a pair that does not rotate at all. JSON and GGUF have no infinity; 1e30 makes theta underflow to 0 in
// float32, so every engine reads it as "no rotation".
inline constexpr double kNoRotation = 1e30;

struct Spectrum {
  double base = 10000;           // b
  double context_trained = 0;    // L, tokens
  std::vector<double> inv_freq;  // theta_i, radians per token, n values; 0 = this pair does not rotate
  bool plain = true;             // theta_i is b^(-i/n); false after scaled_spectrum

  [[nodiscard]] int pairs() const noexcept { return static_cast<int>(inv_freq.size()); }
  bool operator==(const Spectrum&) const = default;
};

// theta_i = base^(-i/n), n = rotary_dim / 2. [T1]
// Domain: rotary_dim even and >= 2, base > 1, context_trained > 0. Error: <= 1 ulp.
Spectrum plain_spectrum(int rotary_dim, double base, double context_trained);

// theta_i / factor_i: what a model with a scaling of its own was trained with. [T36]
// Domain: one factor > 0 per pair; kNoRotation and above give 0.
Spectrum scaled_spectrum(Spectrum spectrum, std::span<const double> factors);

// r_i = L theta_i / 2 pi: turns of pair i during training. [T3]
double turns(const Spectrum& spectrum, int pair) noexcept;

// 2 pi / theta_i: tokens per turn; infinite for a pair that does not rotate.
double wavelength(const Spectrum& spectrum, int pair) noexcept;

// How the band is chosen. Pairs below it made more than beta_fast turns in training and are left alone, pairs above it
// made less than beta_slow and are slowed down by the whole factor. 32 and 1 are the values of the YaRN paper (its beta
// and alpha) and of every engine.
struct BandEdges {
  double beta_fast = 32;
  double beta_slow = 1;
  // Edges set by hand, as pair indices; they win over the turns above.
  std::optional<int> low = std::nullopt;
  std::optional<int> high = std::nullopt;
  // false keeps the real-valued edges, as gpt-oss does. Read by yarn and dynamic-yarn only.
  bool truncate = true;

  bool operator==(const BandEdges&) const = default;
};

// A method leaves pairs i <= low alone, gives pairs i >= high the whole factor, and treats those between as its law
// says. Whole numbers unless BandEdges::truncate is off.
struct Band {
  double low = 0;
  double high = 0;

  [[nodiscard]] double width() const noexcept { return high - low; }
  bool operator==(const Band&) const = default;
};

// c(t): the real-valued pair index that makes exactly t turns in training. [T9]
// For a scaled spectrum ln r_i is interpolated between pairs (first crossing), with the plain slope beyond the ends.
// Domain: turns > 0. May lie outside 0 … n-1.
double pair_at_turns(const Spectrum& spectrum, double turns) noexcept;

// low = max(0, floor(c(beta_fast))), high = min(2n-1, ceil(c(beta_slow))), and never high < low. [T10]
// The upper clamp is 2n-1 and not n-1, as in every deployed YaRN: a short-wavelength model then does not reach the
// full factor at its last pair, and a table that "corrected" this would differ from what engines run.
Band band(const Spectrum& spectrum, const BandEdges& edges = {}) noexcept;

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// The mixed-radix view of a rotary table.
//
// Read a table of pair factors s_0 … s_{n-1} as a number system: pair i is a digit, its radix beta = b^(1/n) grows by
// lambda_i = s_{i+1} / s_i. Two tables that look different as curves are often the same kind of conversion, and the
// kind says where in the spectrum the extra range is paid for.
//
//   Table t = table(plain_spectrum(128, 10000, 4096), 16, MrRopePro{});
//   Conversion c = classify(t.pair_factors);   // c.kind == Conversion::Kind::progressive
//   describe(c);                               // "progressive, lambda 1.008 -> 1.228 over pairs 20..45"
//
// Source: MrRoPE (ICLR 2026), section 3.1, Eq. 9-10; docs/theory.md [T4]-[T8].
// Pure functions, safe to call from any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace mrrope {

// lambda_i = s_{i+1} / s_i, n-1 values. [T4]
// Domain: every s > 0. Inverse of pair_factors_from_radix up to the rounding of one product and quotient per digit.
std::vector<double> radix_factors(std::span<const double> pair_factors);

// s_i = product of lambda_d over d < i, starting at s_0 = 1. [T5]
std::vector<double> pair_factors_from_radix(std::span<const double> lambda);

// How a table spreads its extension over the digits.
struct Conversion {
  enum class Kind {
    none,              // every lambda is 1: plain RoPE
    uniform,           // equal lambdas: ntk, mrrope-uni
    progressive,       // growing lambdas: mrrope-pro, yarn as engines ship it
    regressive,        // shrinking lambdas: yarn as published, for factors below beta_fast/beta_slow
    mixed,             // anything else
    not_a_conversion,  // s_0 != 1: positions are rescaled, no digit keeps its radix (linear)
  };
  Kind kind = Kind::none;
  // Digits whose lambda differs from 1, inclusive; empty if last < first.
  int first = 0;
  int last = -1;
  // A ramp whose real-valued edges fall between two pairs makes a partial step at each end of the band. With four or
  // more changed digits `kind` is that of the interior, and the two end steps are reported apart:
  double edge_first = 1;    // lambda of digit `first`
  double edge_last = 1;     // lambda of digit `last`
  double lambda_first = 1;  // the ends of the run that shows `kind`: the band, or its interior if the end steps differ
  double lambda_last = 1;
  // Pairs that stand still (factor kNoRotation) at the slow end; they are not digits any more.
  int still = 0;

  bool operator==(const Conversion&) const = default;
};

// Lambdas closer than 2^-22 relative count as equal: GGUF and JSON files store float32 factors, each off by up to
// 2^-24, and a stored table must keep its kind (RadixKind.SurvivesStorageAsFloat32). Domain: every s > 0.
Conversion classify(std::span<const double> pair_factors);

// "progressive", …, "not a conversion": stable, as in plan files.
const char* to_string(Conversion::Kind kind) noexcept;

// One line for people.
std::string describe(const Conversion& conversion);

// The digits of position m: digit_i = floor(m beta^-i / s_i) mod (beta lambda_i), lambda of the last digit 1. [T6]
// Radices are real numbers here, so digits are too (floor, then the remainder of a real division).
// Domain: base > 1, m >= 0, s as above. Digits of pairs that stand still are 0.
std::vector<double> digits(double base, std::span<const double> pair_factors, double position);

// The number of positions the system tells apart: product of beta lambda_i = b s_{n-1}. [T7]
double range(double base, std::span<const double> pair_factors);

}  // namespace mrrope

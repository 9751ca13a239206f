// SPDX-License-Identifier: MIT
//
// Every training-free extension method, as a table of pair factors and one attention scale.
//
// A method slows pair i down by s_i (theta'_i = theta_i / s_i) and multiplies cos and sin by a. That table is all an
// engine needs, so a method here is a small struct of its parameters, and one pure function turns it into a Table:
//
//   Spectrum llama2 = plain_spectrum(128, 10000, 4096);
//   Table t = table(llama2, 16, MrRopePro{});                       // 4k -> 64k
//   Table u = table(llama2, 16, Method{Yarn{}, {Resonance{}}});     // YaRN, then whole wavelengths
//   Table v = table(llama2, 16, MrRopePower{.p = 2});
//
// Names, equations and sources: docs/theory.md [T11]-[T28]; `mrrope methods` prints them. S is the factor L'/L, or the
// method's own: a table found by search may want S = 14 where the text is 16 times as long as in training.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mrrope/spectrum.h"

namespace mrrope {

// ---- Attention scale -----------------------------------------------------------------------------------------------

// a = m(S, mscale) / m(S, mscale_all_dim), m(S, k) = 0.1 k ln S + 1 (1 for S <= 1). [T18]
// The defaults are YaRN's 0.1 ln S + 1; DeepSeek ships other pairs.
struct MScale {
  double mscale = 1;
  double mscale_all_dim = 0;

  bool operator==(const MScale&) const = default;
};

// ---- Laws: one per method ------------------------------------------------------------------------------------------

// The trained table, unchanged.
struct None {
  static constexpr std::string_view name = "none";
  bool operator==(const None&) const = default;
};

// s = S: positions are squeezed. Position Interpolation, Chen et al. 2023. [T11]
struct Linear {
  static constexpr std::string_view name = "linear";
  bool operator==(const Linear&) const = default;
};

// s = S^(i/(n-1)): the base grows so that the last pair gets the whole factor. bloc97 2023. [T12]
struct Ntk {
  static constexpr std::string_view name = "ntk";
  bool operator==(const Ntk&) const = default;
};

// s = (b'/b)^(i/n) for a base b' chosen by hand (--rope-freq-base). Xiong et al. 2023. [T13]
struct Abf {
  static constexpr std::string_view name = "abf";
  double base = 0;  // b' > 1, required
  bool operator==(const Abf&) const = default;
};

// abf with b' = b^(ln(L'/2pi) / ln(L/2pi)): what koboldcpp does on its own. [T14]
struct GradientBase {
  static constexpr std::string_view name = "gradient-base";
  bool operator==(const GradientBase&) const = default;
};

// ntk with S(len) = S len/L - (S-1): a table per sequence length. Hugging Face "dynamic". [T15]
struct DynamicNtk {
  static constexpr std::string_view name = "dynamic-ntk";
  bool operator==(const DynamicNtk&) const = default;
};

// yarn-rotations without its attention scale. [T17]
struct NtkByParts {
  static constexpr std::string_view name = "ntk-by-parts";
  double beta_fast = 32;
  double beta_slow = 1;
  bool operator==(const NtkByParts&) const = default;
};

// 1/s = g/S + 1-g, g = clamp((i-low)/(high-low), 0, 1): YaRN as every engine ships it, a ramp over the pair index. It
// is a progressive conversion. [T16]
struct Yarn {
  static constexpr std::string_view name = "yarn";
  BandEdges band = {};
  MScale attention = {};
  bool operator==(const Yarn&) const = default;
};

// 1/s = (1-g)/S + g, g = clamp((r_i - beta_slow)/(beta_fast - beta_slow), 0, 1): YaRN as its paper and the MrRoPE
// paper write it, a ramp over turns. Regressive for S < beta_fast/beta_slow only. Peng et al. 2023. [T17], [T29]
struct YarnRotations {
  static constexpr std::string_view name = "yarn-rotations";
  double beta_fast = 32;
  double beta_slow = 1;
  MScale attention = {};
  bool operator==(const YarnRotations&) const = default;
};

// yarn with S(len) = max(1, len/L): a table per sequence length. [T19]
struct DynamicYarn {
  static constexpr std::string_view name = "dynamic-yarn";
  BandEdges band = {};
  MScale attention = {};
  bool operator==(const DynamicYarn&) const = default;
};

// A ramp over turns between low_freq_factor and high_freq_factor, a = 1: what Llama 3.1 was trained with. [T20]
struct Llama3 {
  static constexpr std::string_view name = "llama3";
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  bool operator==(const Llama3&) const = default;
};

// Searched lists, one for sequences up to L and one beyond; a = sqrt(1 + ln S/ln L). Ding et al. 2024. [T21]
struct LongRope {
  static constexpr std::string_view name = "longrope";
  std::vector<double> short_factors;  // n values
  std::vector<double> long_factors;   // n values
  bool operator==(const LongRope&) const = default;
};

// s = S^(k/N), k = i - low, over the band; 1 below, S above: a uniform conversion. MrRoPE, Eq. 16. [T22]
struct MrRopeUni {
  static constexpr std::string_view name = "mrrope-uni";
  BandEdges band = {};
  MScale attention = {};
  bool operator==(const MrRopeUni&) const = default;
};

// s = S^(k(k+1)/(N(N+1))): a progressive conversion; fast pairs keep most of their resolution. MrRoPE, Eq. 16. [T23]
struct MrRopePro {
  static constexpr std::string_view name = "mrrope-pro";
  BandEdges band = {};
  MScale attention = {};
  bool operator==(const MrRopePro&) const = default;
};

// s = S^(sum_{d<=k} d^p / sum_{d<=N} d^p): p = 0 is mrrope-uni, p = 1 mrrope-pro, p < 0 regressive. [T24]
struct MrRopePower {
  static constexpr std::string_view name = "mrrope-power";
  double p = 2;
  BandEdges band = {};
  MScale attention = {};
  bool operator==(const MrRopePower&) const = default;
};

// s = S^(k(2N+1-k)/(N(N+1))): mrrope-pro read backwards, the authors' concave variant; regressive. [T25]
struct MrRopeMirror {
  static constexpr std::string_view name = "mrrope-mirror";
  BandEdges band = {};
  MScale attention = {};
  bool operator==(const MrRopeMirror&) const = default;
};

// Any list of n factors > 0; a = 1 unless Method::attention_scale says otherwise.
struct Custom {
  static constexpr std::string_view name = "custom";
  std::vector<double> factors;
  bool operator==(const Custom&) const = default;
};

using Law = std::variant<None, Linear, Ntk, Abf, GradientBase, DynamicNtk, NtkByParts, Yarn, YarnRotations, DynamicYarn,
                         Llama3, LongRope, MrRopeUni, MrRopePro, MrRopePower, MrRopeMirror, Custom>;

// ---- Modifiers: change a finished table, whatever law made it ------------------------------------------------------

// Fades out the slowest pairs: s_i *= 2/(1 + cos(pi k/(m-1))) on the last m pairs, the last one stands still.
// CoPE, arXiv:2602.05258. [T26]
struct Cope {
  static constexpr std::string_view name = "cope";
  std::optional<int> pairs = std::nullopt;  // m; default: the pairs that make less than one turn in training
  bool operator==(const Cope&) const = default;
};

// Stops the slowest pairs altogether: HardClip, p-RoPE, "proportional". [T27]
struct Clip {
  static constexpr std::string_view name = "clip";
  std::optional<int> keep = std::nullopt;  // pairs that go on rotating; default: those with wavelength <= L
  bool operator==(const Clip&) const = default;
};

// Rounds every wavelength to whole tokens, so that angles repeat exactly. Wang et al., arXiv:2403.00071. [T28]
struct Resonance {
  static constexpr std::string_view name = "resonance";
  bool operator==(const Resonance&) const = default;
};

using Modifier = std::variant<Cope, Clip, Resonance>;

// ---- A method, and its table ---------------------------------------------------------------------------------------

struct Method {
  Law law = None{};
  std::vector<Modifier> modifiers = {};                  // applied in order
  std::optional<double> attention_scale = std::nullopt;  // replaces the law's own
  std::optional<double> factor = std::nullopt;           // S of the table, where it is not L'/L; only if reads_factor

  Method() = default;
  template <class L>
  requires(std::is_constructible_v<Law, L> && !std::is_same_v<std::remove_cvref_t<L>, Method>)
      Method(L&& a_law, std::vector<Modifier> a_modifiers = {}, std::optional<double> a_scale = std::nullopt,  // NOLINT
             std::optional<double> a_factor = std::nullopt)
      : law(std::forward<L>(a_law)), modifiers(std::move(a_modifiers)), attention_scale(a_scale), factor(a_factor) {}

  bool operator==(const Method&) const = default;
};

struct Table {
  std::vector<double> pair_factors;  // s_i, n values, > 0; kNoRotation = the pair stands still
  double attention_scale = 1;        // a; attention logits get a^2

  bool operator==(const Table&) const = default;
};

// The table of `method` for an extension by `factor`, relative to `spectrum` (for a model with a scaling of its own:
// relative to what it was trained with). A factor of the method's own takes the place of `factor` in its formula, the
// attention scale's included.
// `length` is the sequence length in tokens; only laws that depend on it read it. Default: factor * L.
// Domain: factor >= 1; parameters inside the ranges that `mrrope methods NAME` prints; lists of n values.
// Error: <= 4 ulp per factor for factor <= 64 where long double is wider than double (tests/theory/precision_test.cpp).
// Cost: 1-2 microseconds for 64 pairs; allocates the result only.
Table table(const Spectrum& spectrum, double factor, const Method& method, std::optional<double> length = std::nullopt);

// theta'_i = theta_i / s_i, exactly 0 for a pair that stands still. [T2]
std::vector<double> inv_freq(const Spectrum& spectrum, std::span<const double> pair_factors);

// True for laws whose table changes with the sequence length (dynamic-ntk, dynamic-yarn, longrope).
bool depends_on_length(const Method& method) noexcept;

// False for laws whose table has no S in it (none, abf, dynamic-yarn, custom): a factor of their own would do nothing.
bool reads_factor(const Law& law) noexcept;

// The band a law works on, or the default band for a law without one: the pairs that matter for its analysis.
Band band_of(const Spectrum& spectrum, const Method& method);

}  // namespace mrrope

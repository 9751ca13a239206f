// SPDX-License-Identifier: MIT
#include "mrrope/methods.h"

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "theory/laws.h"

namespace mrrope {

Table table(const Spectrum& spectrum, double factor, const Method& method, std::optional<double> length) {
  assert(factor >= 1);
  const theory::LawInput in{spectrum, method.factor.value_or(factor),
                            length.value_or(factor * spectrum.context_trained)};
  Table result = std::visit([&](const auto& law) { return theory::make_table(in, law); }, method.law);
  for (const Modifier& modifier : method.modifiers) {
    std::visit([&](const auto& m) { theory::modify(spectrum, result.pair_factors, m); }, modifier);
  }
  if (method.attention_scale) result.attention_scale = *method.attention_scale;
  return result;
}

std::vector<double> inv_freq(const Spectrum& spectrum, std::span<const double> pair_factors) {
  assert(pair_factors.size() == spectrum.inv_freq.size());
  std::vector<double> result;
  result.reserve(pair_factors.size());
  for (std::size_t i = 0; i < pair_factors.size(); ++i) {
    result.push_back(pair_factors[i] >= kNoRotation ? 0 : spectrum.inv_freq[i] / pair_factors[i]);
  }
  return result;
}

bool depends_on_length(const Method& method) noexcept {
  return std::holds_alternative<DynamicNtk>(method.law) || std::holds_alternative<DynamicYarn>(method.law) ||
         std::holds_alternative<LongRope>(method.law);
}

bool reads_factor(const Law& law) noexcept {
  return !std::holds_alternative<None>(law) && !std::holds_alternative<Abf>(law) &&
         !std::holds_alternative<DynamicYarn>(law) && !std::holds_alternative<Custom>(law);
}

namespace {

template <class L>
constexpr bool kRampOverPairs = std::is_same_v<L, Yarn> || std::is_same_v<L, DynamicYarn>;

}  // namespace

Band band_of(const Spectrum& spectrum, const Method& method) {
  return std::visit(
      [&](const auto& law) {
        using L = std::remove_cvref_t<decltype(law)>;
        if constexpr (requires { law.band; })
          return band(spectrum, kRampOverPairs<L> ? law.band : theory::whole_edges(law.band));
        else if constexpr (requires { law.beta_fast; })
          return band(spectrum, {.beta_fast = law.beta_fast, .beta_slow = law.beta_slow});
        else if constexpr (std::is_same_v<L, Llama3>)
          return band(spectrum, {.beta_fast = law.high_freq_factor, .beta_slow = law.low_freq_factor});
        else return band(spectrum);
      },
      method.law);
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// A model that is not there: losses with a known best table, and noise of which most is the item's, as with real texts.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "mrrope/catalogue.h"
#include "mrrope/tune.h"

namespace mrrope::tune::test {

inline double noise(const std::string& key, std::size_t item, std::uint64_t seed) {
  std::mt19937_64 random(std::hash<std::string>{}(key) ^ (item * 0x9e3779b97f4a7c15U) ^ (seed << 40U));
  return std::normal_distribution()(random);
}

struct Objective {
  std::uint64_t seed = 1;
  double spread = 0.01;  // of one method on one item, beyond what the item does to all
  bool flat = false;     // every method is the same table

  // 0 at p = 0.4, a = 1.16, S = 14 and a band from pair 2 to 22; methods of other laws stand at 0.05.
  [[nodiscard]] double excess(const Method& method) const {
    if (flat) return 0;
    const auto* power = std::get_if<MrRopePower>(&method.law);
    if (power == nullptr) return 0.05;
    const auto square = [](double x) { return x * x; };
    return 0.3 * (square((power->p - 0.4) / 6) + square((*power->band.low - 2) / 16.0) +
                  square((*power->band.high - 22) / 20.0) + square((*method.attention_scale - 1.16) / 0.48) +
                  square(std::log(*method.factor / 14) / 1.2));
  }
  [[nodiscard]] Loss loss(const Method& method, std::size_t item) const {
    const std::string name = spell(method);
    const double text = noise("", item, seed);
    return {2 + text + excess(method) + spread * noise(name, item, seed),
            2 + text + excess(method) / 2 + spread * noise(name + "w", item, seed)};
  }
};

// Until the search ends, or `most` answers.
inline void drive(Search& search, const Objective& objective, std::size_t items, int most = 1 << 30) {
  for (int i = 0; i < most && search.ask(); ++i) {
    std::vector<Loss> losses;
    for (std::size_t item = 0; item < items; ++item) losses.push_back(objective.loss(*search.ask(), item));
    search.tell(std::move(losses));
  }
}

}  // namespace mrrope::tune::test

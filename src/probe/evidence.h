// SPDX-License-Identifier: MIT
//
// What every suspect made of the statements, and who is out.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mrrope/fingerprint.h"
#include "probe/slopes.h"

namespace mrrope::probe {

// Of statements that are run together before suspects are struck out; also the fewest that may strike one out.
inline constexpr std::size_t kBatch = 8;
// Two computations of one table in float16 differ by less.
inline constexpr double kRounding = 1e-7;

// Student's t, one-sided p = 0.0005, by the Cornish-Fisher series: within 1 % from 6 degrees on.
double certain_t(std::size_t freedom);

struct Tried {
  Suspect suspect = {};
  std::vector<std::vector<double>> roots = {};  // per statement; empty: not run
  std::vector<double> distance = {};            // per statement; negative: not run
  bool out = false;
};

struct Evidence {
  std::vector<Statement> statements;
  std::vector<std::vector<double>> served;  // roots
  std::vector<std::size_t> singles, texts;  // statements of one token, and the others
  std::vector<Tried> tried;
  std::size_t best = 0;  // of `tried`

  Evidence(std::vector<Statement> said, std::vector<Suspect> suspects);

  [[nodiscard]] const Suspect& suspect() const { return tried[best].suspect; }  // the best one
  // Its number; nothing: a suspect has this table.
  std::optional<std::size_t> add(Suspect one);
  void tell(std::size_t suspect, std::size_t statement, std::vector<double> roots);

  // Over the texts that it was run on.
  [[nodiscard]] double mean_distance(const Tried& one) const;
  // The same on the statements that every suspect was run on, as a sum of logarithms.
  [[nodiscard]] double first_distance(const Tried& one) const;
  // How many times as far as the best one, on the texts that both were run on.
  [[nodiscard]] double times_as_far(const Tried& one) const;
  // Where the server lies between the best table and this one.
  [[nodiscard]] Way way_to(const Tried& one) const;

  // Finds the best again; out is who the server certainly lies short of.
  void strike_out();
};

}  // namespace mrrope::probe

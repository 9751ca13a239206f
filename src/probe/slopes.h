// SPDX-License-Identifier: MIT
//
// Does the server lie in some direction from a plan? Least squares on the differences that small changes of the table
// make, with errors that allow for rows of one statement being alike.
#pragma once

#include <cstddef>
#include <vector>

#include "mrrope/plan.h"

namespace mrrope::probe {

// Changes of a table: of the attention scale, then of the speeds of pairs, by tents over the pair index that overlap
// by half. Only pairs that a statement can feel: from a wavelength of a few tokens to some times its length.
struct Directions {
  std::vector<std::vector<double>> tents;  // weight of each pair, 0 … 1; sums to 1 over the pairs that are felt
  [[nodiscard]] std::size_t count() const { return tents.size() + 1; }
};
Directions directions_of(const Plan& plan, std::size_t longest);

// The plan with everything of one direction larger by `relative`. Speeds and scales of groups that are not extended
// stay.
Plan moved(const Plan& plan, const Directions& directions, std::size_t direction, double relative);

struct Slopes {
  std::vector<double> step;   // per direction, relative: what moves the plan to the server
  std::vector<double> error;  // standard errors, by the spread over statements
  std::vector<double> left;   // per statement, the sum of squares that no step explains
};
// `residual`: server minus plan, roots of a statement; `slope`: of each direction, what a step of 1 adds to them.
// Domain: more statements than directions.
Slopes slopes(const std::vector<std::vector<double>>& residual,
              const std::vector<std::vector<std::vector<double>>>& slope);

// Where the server lies on the way from one table, 0, to another, 1; ± its standard error. Nearer than rounding, the
// two are one, and the error is infinite.
struct Way {
  double place = 0;
  double error = 0;
  std::size_t statements = 0;
};
// Roots, statement by statement.
Way way(const std::vector<std::vector<double>>& server, const std::vector<std::vector<double>>& from,
        const std::vector<std::vector<double>>& to);

}  // namespace mrrope::probe

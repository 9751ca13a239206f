// SPDX-License-Identifier: MIT
//
// How far two statements about the next token are apart.
#pragma once

#include <span>
#include <vector>

#include "mrrope/fingerprint.h"

namespace mrrope::probe {

// Square roots of the probabilities, and of what is left for all other tokens. Between such vectors the squared
// distance is twice Hellinger's, and noise of the logits moves each of them by about as much as it weighs.
std::vector<double> roots(std::span<const double> log_p);

// Roots of all rows of a statement, one after the other.
std::vector<double> roots_of(const Statement& statement);
std::vector<double> roots_of(const std::vector<std::vector<double>>& log_p);

// Hellinger's squared distance, 0 … 1, mean over rows. Domain: equal sizes, rows > 0.
double distance(std::span<const double> a, std::span<const double> b, std::size_t rows);

}  // namespace mrrope::probe

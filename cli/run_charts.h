// SPDX-License-Identifier: MIT
//
// Runs as pictures made of characters, as wide as the terminal: what `eval` and `compare` print under their tables.
#pragma once

#include <string>

#include "mrrope/answers.h"
#include "mrrope/records.h"
#include "runs/readings.h"

namespace mrrope::cli {

// Needles by length and depth, a block for each plan, each cell a shade and its number: readable without colour, and
// without Unicode. Empty where no record has a needle at two depths or more.
std::string needle_chart(const eval::Answers& answers, const eval::RunInfo& info);

// Loss by position in the text, a line for each plan on one scale. Empty where the readings have no such curves.
std::string loss_chart(const eval::Readings& readings, const eval::RunInfo& info);

}  // namespace mrrope::cli

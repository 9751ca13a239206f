// SPDX-License-Identifier: MIT
//
// Ways to write a plan into a file are tried, judged by predicting what the engine makes of them, and refused in one
// form of words, which names the nearest.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mrrope/plan.h"
#include "mrrope/result.h"

namespace mrrope::targets {

// float32 factors are off by 2^-24; a table counts as delivered within this.
inline constexpr double kExact = 1e-6;

struct Attempt {
  std::string what;           // for people: "yarn, factor 4 from 8192"
  double residual = 1;        // largest relative difference of an angular speed; 1: does not load, or worse
  double scale_residual = 1;  // of an attention scale

  [[nodiscard]] double off() const { return std::max(residual, scale_residual); }
};

// "ENGINE cannot run METHOD on MODEL: WHY. Nearest that it can: …". `scale_tolerance`: what of an attention scale is
// not worth a word.
//
// without_nearest() gives the same without its second sentence.
Error refusal(std::string_view engine, const Plan& plan, std::string_view model, std::string_view why,
              std::vector<Attempt> tried, double scale_tolerance = kExact);
std::string without_nearest(const std::string& refusal);

}  // namespace mrrope::targets

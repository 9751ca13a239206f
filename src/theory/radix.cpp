// SPDX-License-Identifier: MIT
#include "mrrope/radix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "mrrope/spectrum.h"

namespace mrrope {

namespace {

// Two neighbouring lambdas of a float32 table are off by up to 2^-23 each (two roundings of 2^-24).
constexpr double kEqual = 0x1p-22;

bool is_one(double value) { return std::fabs(value - 1) <= kEqual; }

using Kind = Conversion::Kind;

// The shape of a run of lambdas, all of which differ from 1 somewhere.
Kind shape(std::span<const double> lambda) {
  const auto [smallest, largest] = std::minmax_element(lambda.begin(), lambda.end());
  if (*largest <= *smallest * (1 + kEqual)) return Kind::uniform;
  bool rises = true;
  bool falls = true;
  for (std::size_t i = 1; i < lambda.size(); ++i) {
    rises = rises && lambda[i] >= lambda[i - 1] * (1 - kEqual);
    falls = falls && lambda[i] <= lambda[i - 1] * (1 + kEqual);
  }
  return rises ? Kind::progressive : falls ? Kind::regressive : Kind::mixed;
}

}  // namespace

std::vector<double> radix_factors(std::span<const double> pair_factors) {
  std::vector<double> lambda;
  for (std::size_t i = 1; i < pair_factors.size(); ++i) {
    assert(pair_factors[i] > 0);
    lambda.push_back(pair_factors[i] / pair_factors[i - 1]);
  }
  return lambda;
}

std::vector<double> pair_factors_from_radix(std::span<const double> lambda) {
  std::vector<double> factors = {1.0};
  for (const double l : lambda) factors.push_back(factors.back() * l);
  return factors;
}

Conversion classify(std::span<const double> pair_factors) {
  Conversion result;
  // Pairs that stand still at the slow end are not digits of the system any more.
  std::size_t rotating = pair_factors.size();
  while (rotating > 0 && pair_factors[rotating - 1] >= kNoRotation) --rotating;
  result.still = static_cast<int>(pair_factors.size() - rotating);
  if (rotating == 0) {
    result.kind = result.still > 0 ? Kind::mixed : Kind::none;
    return result;
  }

  const std::vector<double> lambda = radix_factors(pair_factors.first(rotating));
  const auto changed = [](double l) { return !is_one(l); };
  const auto first = std::find_if(lambda.begin(), lambda.end(), changed);
  if (first != lambda.end()) {
    const auto last = std::find_if(lambda.rbegin(), lambda.rend(), changed).base() - 1;
    result.first = static_cast<int>(first - lambda.begin());
    result.last = static_cast<int>(last - lambda.begin());
    result.edge_first = *first;
    result.edge_last = *last;
    std::span<const double> judged(first, last + 1);
    result.kind = shape(judged);
    if (judged.size() >= 4) {
      // Partial steps at the ends do not count; where they fit, they stay in the picture
      const std::span<const double> interior = judged.subspan(1, judged.size() - 2);
      const Kind kind = shape(interior);
      if (kind != result.kind) judged = interior;
      result.kind = kind;
    }
    result.lambda_first = judged.front();
    result.lambda_last = judged.back();
  }
  if (!is_one(pair_factors[0])) result.kind = Kind::not_a_conversion;
  return result;
}

const char* to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::none: return "none";
    case Kind::uniform: return "uniform";
    case Kind::progressive: return "progressive";
    case Kind::regressive: return "regressive";
    case Kind::mixed: return "mixed";
    case Kind::not_a_conversion: return "not a conversion";
  }
  return "unknown";
}

std::string describe(const Conversion& c) {
  std::string text;
  if (c.kind == Kind::none) {
    text = "none: every pair keeps its trained speed";
  } else if (c.kind == Kind::not_a_conversion) {
    text = "not a conversion: even the fastest pair is rescaled";
  } else if (c.last >= c.first) {
    text = c.kind == Kind::uniform
               ? fmt::format("uniform, lambda {:.3f} over pairs {}..{}", c.lambda_first, c.first, c.last)
               : fmt::format("{}, lambda {:.3f} -> {:.3f} over pairs {}..{}", to_string(c.kind), c.lambda_first,
                             c.lambda_last, c.first, c.last);
  } else {
    text = to_string(c.kind);
  }
  if (c.still > 0) text += fmt::format("; the last {} pair{} not rotate", c.still, c.still == 1 ? " does" : "s do");
  return text;
}

std::vector<double> digits(double base, std::span<const double> pair_factors, double position) {
  assert(base > 1 && position >= 0);
  const auto n = pair_factors.size();
  const double beta = std::pow(base, 1.0 / static_cast<double>(n));
  std::vector<double> result(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (pair_factors[i] >= kNoRotation) continue;
    const bool last = i + 1 == n || pair_factors[i + 1] >= kNoRotation;
    const double radix = beta * (last ? 1 : pair_factors[i + 1] / pair_factors[i]);
    const double shifted = position * std::pow(base, -static_cast<double>(i) / static_cast<double>(n));
    result[i] = std::fmod(std::floor(shifted / pair_factors[i]), radix);
  }
  return result;
}

double range(double base, std::span<const double> pair_factors) {
  std::size_t rotating = pair_factors.size();
  while (rotating > 0 && pair_factors[rotating - 1] >= kNoRotation) --rotating;
  if (rotating == 0) return 1;
  const double share = static_cast<double>(rotating) / static_cast<double>(pair_factors.size());
  return std::pow(base, share) * pair_factors[rotating - 1];
}

}  // namespace mrrope

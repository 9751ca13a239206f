// SPDX-License-Identifier: MIT
#include "mrrope/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/unicode.h"
#include "runs/interval.h"
#include "runs/readings.h"

namespace mrrope::eval {

namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) out[order[k]] = (static_cast<double>(i + j) - 1) / 2;
    i = j;
  }
  return out;
}

}  // namespace

std::string PlanName::text() const { return factor == 1 ? method : fmt::format("{} x{:g}", method, factor); }

Result<PlanName> choose_baseline(std::span<const PlanName> plans, std::string_view wanted) {
  const std::string asked = base::lower_case(wanted);
  std::string names;
  for (const PlanName& plan : plans) {
    if (base::lower_case(plan.method) == asked || base::lower_case(plan.text()) == asked) return plan;
    names += (names.empty() ? "" : ", ") + plan.text();
  }
  if (!wanted.empty()) {
    return Error{ErrorCode::invalid_argument, fmt::format("no records of \"{}\" (there are: {})", wanted, names), "",
                 "baseline"};
  }
  for (const std::string_view usual : {"yarn", "none"}) {
    for (const PlanName& plan : plans) {
      if (plan.method == usual) return plan;
    }
  }
  return plans.front();
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::vector<PplRow> ppl_table(std::span<const Record> records) { return readings_of(records).rows(); }

Comparison compare_ppl(std::span<const Record> records, std::string_view method_a, double factor_a,
                       std::string_view method_b, double factor_b, std::int64_t length, bool last) {
  return readings_of(records).compare({std::string(method_a), factor_a}, {std::string(method_b), factor_b}, length,
                                      last);
}

namespace {

double half_percent(const Comparison& c) { return 50 * (c.ratio_high - c.ratio_low); }

// Beyond this many percent to each side an interval is far from even (1.3 to 12.1 times), and ± would reach below zero;
// and "+395 %" is no way to say five times.
constexpr double kWide = 50, kFar = 2;
bool as_factor(const Comparison& c) { return half_percent(c) > kWide || c.ratio > kFar || c.ratio < 1 / kFar; }

}  // namespace

bool Comparison::too_few() const {
  return documents > 0 && !differs &&
         (documents == 2 || ratio_high < 1 || ratio_low > 1 || !std::isfinite(ratio_high - ratio_low));
}

std::string Comparison::verdict(std::string_view with) const {
  if (documents == 0) return "nothing to compare";
  const double half = half_percent(*this);
  const double percent = 100 * (ratio - 1);
  if (!std::isfinite(half)) return fmt::format("too short a text to tell ({:+.1f} %)", percent);
  const bool wide = as_factor(*this);
  if (differs && wide) return fmt::format("{:.1f} times as high ({:.1f} to {:.1f})", ratio, ratio_low, ratio_high);
  if (differs) return fmt::format("{:.1f} ± {:.1f} % {}", std::fabs(percent), half, percent < 0 ? "lower" : "higher");
  return fmt::format("{} ({})",
                     !too_few()       ? tied(with)
                     : documents == 1 ? "too short a text to tell"
                                      : fmt::format("too few documents ({}) to tell", documents),
                     wide ? fmt::format("{:.1f} times as high, {:.1f} to {:.1f}", ratio, ratio_low, ratio_high)
                          : fmt::format("{:+.1f} ± {:.1f} %", percent, half));
}

std::string Comparison::cell() const {
  if (documents == 0) return "-";
  const double half = half_percent(*this);
  const double percent = 100 * (ratio - 1);
  if (!std::isfinite(half)) return fmt::format("{:+.1f} %", percent);
  const char* star = differs ? " *" : "";
  if (as_factor(*this)) return fmt::format("{:.1f}x ({:.1f} to {:.1f}){}", ratio, ratio_low, ratio_high, star);
  return fmt::format("{:+.1f} ± {:.1f} %{}", percent, half, star);
}

}  // namespace mrrope::eval

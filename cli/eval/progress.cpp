// SPDX-License-Identifier: MIT
#include "cli/eval/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

void BestSoFar::add(const eval::Record& record) {
  Sum& sum = plans_[{record.method, record.factor}];
  if (const eval::Answer* answer = record.answer()) {
    scores_ = true;
    sum.value += answer->score;
    ++sum.count;
  } else if (const auto& points = record.reading()->points; !points.empty() && points.back().predicted > 0) {
    sum.value += points.back().nll / static_cast<double>(points.back().predicted);
    ++sum.count;
  }
}

std::string BestSoFar::text() const {
  if (plans_.size() < 2) return "";
  std::size_t most = 0;
  for (const auto& [plan, sum] : plans_) most = std::max(most, sum.count);
  if (most == 0) return "";
  std::string name;
  double best = 0;
  for (const auto& [plan, sum] : plans_) {
    if (sum.count != most) continue;  // another number of texts or samples is no fair comparison
    const double mean = sum.value / static_cast<double>(sum.count);
    if (!name.empty() && (scores_ ? mean <= best : mean >= best)) continue;
    best = mean;
    name = eval::PlanName{plan.first, plan.second}.text();
  }
  return scores_ ? fmt::format("best {} {:.1f} %", name, 100 * best)
                 : fmt::format("best {} {:.3f}", name, std::exp(best));
}

std::string progress_line(const eval::Progress& p, double seconds, const std::string& best, std::size_t width) {
  const double rate = seconds > 0 ? static_cast<double>(p.tokens) / seconds : 0;
  std::string line = fmt::format("{}/{}  {:.0f} tokens/s", p.item, p.items, rate);
  // Later tokens of a pass cost more than earlier ones: the estimate is a little early. No rate, no promise.
  if (rate > 0) {
    const auto left = static_cast<std::int64_t>(static_cast<double>(p.tokens_total - p.tokens) / rate);
    line += left < 3600 ? fmt::format("  {}:{:02d} left", left / 60, left % 60)
                        : fmt::format("  {}:{:02d}:{:02d} left", left / 3600, left / 60 % 60, left % 60);
  }
  for (const std::string& part : {best, p.what}) {
    if (!part.empty() && columns(line) + 2 + columns(part) < width) line += "  " + part;
  }
  return line;
}

}  // namespace mrrope::cli

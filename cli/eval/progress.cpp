// SPDX-License-Identifier: MIT
#include "cli/eval/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal.h"
#include "mrrope/statistics.h"

namespace mrrope::cli {

void BestSoFar::add(const eval::Record& record) {
  const std::pair<std::string, double> plan{record.method, record.factor};
  if (const eval::Answer* answer = record.answer()) {
    Sum& sum = answers_[plan];
    sum.value += answer->score;
    ++sum.count;
  } else if (const auto& points = record.reading()->points; !points.empty() && points.back().predicted > 0) {
    Sum& sum = readings_[plan];
    sum.value += points.back().nll / static_cast<double>(points.back().predicted);
    ++sum.count;
  }
}

std::string BestSoFar::text() const {
  const bool scores = readings_.empty();
  const Sums& plans = scores ? answers_ : readings_;
  if (plans.size() < 2) return "";
  std::size_t most = 0;
  for (const auto& [plan, sum] : plans) most = std::max(most, sum.count);
  std::string name;
  double best = 0;
  for (const auto& [plan, sum] : plans) {
    if (sum.count != most) continue;  // another number of texts or samples is no fair comparison
    const double mean = sum.value / static_cast<double>(sum.count);
    if (!name.empty() && (scores ? mean <= best : mean >= best)) continue;
    best = mean;
    name = eval::PlanName{plan.first, plan.second}.text();
  }
  return scores ? fmt::format("best {} {:.1f} %", name, 100 * best)
                : fmt::format("best {} {:.3f}", name, std::exp(best));
}

double ProgressClock::seconds(std::int64_t tokens, Clock::time_point now) {
  if (tokens < tokens_) start_ = now;
  tokens_ = tokens;
  return std::chrono::duration<double>(now - start_).count();
}

std::string progress_line(const eval::Progress& p, double seconds, const std::string& best, std::size_t width) {
  const double rate = seconds > 0 ? static_cast<double>(p.tokens) / seconds : 0;
  std::string line = fmt::format("{}/{}", p.item, p.items);
  // Later tokens of a pass cost more than earlier ones: the estimate is a little early. No rate, no promise.
  if (rate > 0) {
    line += fmt::format("  {:.0f} tokens/s", rate);
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

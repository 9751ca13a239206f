// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "mrrope/statistics.h"
#include "mrrope/tune.h"
#include "runs/interval.h"

namespace mrrope::tune {

namespace {

constexpr std::size_t kEnough = 3;  // items: as compare_ppl asks for

const std::vector<double>& values_of(const Measured& measured, Metric metric) {
  switch (metric) {
    case Metric::ppl_long: return measured.ppl_long;
    case Metric::ppl_short: return measured.ppl_short;
    case Metric::answer_nll: return measured.answer_nll;
    case Metric::score: break;
  }
  return measured.score;
}

Difference difference_of_scores(const std::vector<double>& tuned, const std::vector<double>& fixed) {
  std::vector<eval::ScorePair> pairs;
  for (std::size_t i = 0; i < tuned.size(); ++i) pairs.push_back({tuned[i], fixed[i]});
  const eval::ScoreComparison c = eval::compare_scores(pairs);
  Difference out;
  out.difference = c.difference / 100;
  out.low = c.low / 100;
  out.high = c.high / 100;
  out.better = c.differs && c.difference > 0;
  out.worse = c.differs && c.difference < 0;
  return out;
}

Difference difference_of_losses(const std::vector<double>& tuned, const std::vector<double>& fixed, Metric metric) {
  std::vector<double> paired;
  for (std::size_t i = 0; i < tuned.size(); ++i) paired.push_back(tuned[i] - fixed[i]);
  const eval::Interval sides = eval::interval95(paired);
  const double mean = eval::estimate(paired).mean;
  const double half = std::max(mean - sides.low, sides.high - mean);  // a single text can make it lopsided
  const bool relative = metric != Metric::answer_nll;
  const auto shown = [&](double d) { return relative ? std::expm1(d) : d; };
  Difference out;
  out.difference = shown(mean);
  out.low = shown(mean - half);
  out.high = shown(mean + half);
  out.better = paired.size() >= kEnough && mean + half < 0;
  out.worse = paired.size() >= kEnough && mean - half > 0;
  return out;
}

}  // namespace

const char* to_string(Metric metric) noexcept {
  switch (metric) {
    case Metric::ppl_long: return "ppl_long";
    case Metric::ppl_short: return "ppl_short";
    case Metric::answer_nll: return "answer_nll";
    case Metric::score: return "score";
  }
  return "";
}

std::vector<std::size_t> front(std::span<const Candidate> candidates) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].losses.empty()) order.push_back(i);
  }
  // From the best within on, whoever is better beyond than all before
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Loss x = candidates[a].mean();
    const Loss y = candidates[b].mean();
    return x.within != y.within ? x.within < y.within : x.beyond < y.beyond;
  });
  std::vector<std::size_t> out;
  for (const std::size_t i : order) {
    if (out.empty() || candidates[i].mean().beyond < candidates[out.back()].mean().beyond) out.push_back(i);
  }
  return out;
}

Verdict verdict(const Measured& tuned, std::span<const Measured> fixed, std::string_view best_fixed, Metric deciding) {
  Verdict out;
  out.recommended = best_fixed;
  [[maybe_unused]] bool known = false;
  bool better = false;
  bool loses_answers = false;
  for (const Measured& other : fixed) {
    known = known || other.name == best_fixed;
    for (const Metric metric : {Metric::ppl_long, Metric::ppl_short, Metric::answer_nll, Metric::score}) {
      const std::vector<double>& mine = values_of(tuned, metric);
      const std::vector<double>& theirs = values_of(other, metric);
      if (mine.size() < 2 || theirs.empty()) continue;
      assert(mine.size() == theirs.size());
      Difference d =
          metric == Metric::score ? difference_of_scores(mine, theirs) : difference_of_losses(mine, theirs, metric);
      d.against = other.name;
      d.metric = metric;
      d.items = mine.size();
      if (other.name == best_fixed) {
        better = better || (metric == deciding && d.better);
        loses_answers = loses_answers || ((metric == Metric::answer_nll || metric == Metric::score) && d.worse);
      }
      out.differences.push_back(std::move(d));
    }
  }
  assert(known);
  if (better && !loses_answers) out.recommended = "tuned";
  return out;
}

}  // namespace mrrope::tune

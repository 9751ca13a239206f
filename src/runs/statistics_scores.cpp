// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "mrrope/answers.h"
#include "mrrope/statistics.h"
#include "runs/differences.h"
#include "runs/interval.h"

namespace mrrope::eval {

namespace {

constexpr double kLevel = 0.05;

// Numbers things in the order in which they are first seen.
template <class T>
class Order {
 public:
  std::size_t operator()(const T& thing) { return ranks_.emplace(thing, ranks_.size()).first->second; }

 private:
  std::map<T, std::size_t> ranks_;
};

// Of the mean of sorted differences; of a single one it is infinite.
Interval interval_of(const std::vector<double>& differences) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return differences.size() > 1 ? interval95(differences) : Interval{-kInfinity, kInfinity};
}

// P of a split at least this uneven among n fair coins: twice the lower tail, term by term from the logarithm of the
// first.
double sign_test(std::size_t few, std::size_t many) {
  const auto n = static_cast<double>(few + many);
  double log_term = -n * std::log(2.0);
  double tail = std::exp(log_term);
  for (std::size_t k = 1; k <= few; ++k) {
    log_term += std::log((n - static_cast<double>(k) + 1) / static_cast<double>(k));
    tail += std::exp(log_term);
  }
  return std::min(1.0, 2 * tail);
}

// P that fair coins for the signs give a sum at least as far from 0 (Fisher's paired permutation test). Domain: sorted,
// none is 0, finite.
double permutation_test(std::span<const double> differences) {
  constexpr std::size_t kExactTo = 16;
  constexpr std::size_t kDrawTo = 1000;
  constexpr std::size_t kDraws = 10'000;
  const std::size_t n = differences.size();
  const auto negative =
      static_cast<std::size_t>(std::count_if(differences.begin(), differences.end(), [](double d) { return d < 0; }));
  const auto [smallest, largest] = std::minmax_element(differences.begin(), differences.end(),
                                                       [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  if (n == 0 || std::fabs(*smallest) == std::fabs(*largest)) {
    return sign_test(std::min(negative, n - negative), std::max(negative, n - negative));
  }
  double sum = 0;
  double squares = 0;
  for (const double d : differences) {
    sum += d;
    squares += d * d;
  }
  if (n > kDrawTo) return std::erfc(std::fabs(sum) / std::sqrt(2 * squares));
  const double reached = std::fabs(sum) * (1 - 1e-12);  // sums in another order
  const auto is_as_far = [reached](double drawn) { return std::fabs(drawn) >= reached; };
  if (n <= kExactTo) {
    std::vector<double> sums = {0};
    for (const double d : differences) {
      for (std::size_t i = 0, before = sums.size(); i < before; ++i) {
        sums.push_back(sums[i] - d);
        sums[i] += d;
      }
    }
    return static_cast<double>(std::count_if(sums.begin(), sums.end(), is_as_far)) / static_cast<double>(sums.size());
  }
  std::size_t as_far = 0;
  std::mt19937_64 random(20260101);     // NOLINT(cert-msc32-c,cert-msc51-cpp): the same verdict every time
  constexpr std::size_t kTogether = 4;  // sums that do not wait for each other
  const std::size_t words = (n + 63) / 64;
  std::vector<std::uint64_t> coins(kTogether * words);
  for (std::size_t draw = 0; draw < kDraws; draw += kTogether) {
    for (std::uint64_t& word : coins) word = random();
    std::array<double, kTogether> sums = {};
    for (std::size_t i = 0; i < n; ++i) {
      const std::array<double, 2> either = {-differences[i], differences[i]};
      for (std::size_t j = 0; j < kTogether; ++j) sums[j] += either[(coins[j * words + i / 64] >> (i % 64)) & 1];
    }
    as_far += static_cast<std::size_t>(std::count_if(sums.begin(), sums.end(), is_as_far));
  }
  return static_cast<double>(as_far + 1) / static_cast<double>(kDraws + 1);  // what was seen is one of the draws
}

// "± 4.1", or both ends where one side is longer by a quarter than the other, or reaches an end of the scale.
std::string spread(double middle, double low, double high, const char* unit) {
  constexpr double kUneven = 1.25;
  const double below = middle - low;
  const double above = high - middle;
  if (std::max(below, above) > kUneven * std::min(below, above)) {
    return fmt::format("{:+.1f}{} ({:+.1f} to {:+.1f})", middle, unit, low, high);
  }
  return fmt::format("{:+.1f} ± {:.1f}{}", middle, (high - low) / 2, unit);
}

std::string percent_right(double score, Interval interval) {
  return fmt::format("{:.1f} ({:.0f}–{:.0f})", 100 * score, 100 * interval.low, 100 * interval.high);
}

}  // namespace

std::optional<double> nll_per_token(const Answer& answer) {
  if (!answer.right) return std::nullopt;
  return answer.right->nll / static_cast<double>(answer.right->tokens);
}

bool is_empty(const Answer& answer) { return answer.text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::vector<ScoreRow> score_table(std::span<const Record> records) { return answers_of(records).rows(); }

std::string ScoreRow::cell() const { return percent_right(score, {low, high}); }
std::string MeanScoreRow::cell() const { return percent_right(score, {low, high}); }

std::vector<MeanScoreRow> mean_scores(std::span<const ScoreRow> table) {
  struct Sums {
    MeanScoreRow row;
    double variance = 0;          // of the sum of task scores
    double below = 0, above = 0;  // squares of the sides of the tasks' intervals
    double nll = 0;
    double nll_variance = 0;
    std::size_t nll_tasks = 0;
  };
  Order<std::pair<std::string_view, double>> plan_order;
  std::map<std::pair<std::size_t, std::int64_t>, Sums> groups;
  for (const ScoreRow& r : table) {
    Sums& sums = groups[{plan_order({r.method, r.factor}), r.length}];
    sums.row.method = r.method;
    sums.row.factor = r.factor;
    sums.row.length = r.length;
    ++sums.row.tasks;
    sums.row.score += r.score;
    sums.variance += r.stderr_score * r.stderr_score;
    sums.below += (r.score - r.low) * (r.score - r.low);
    sums.above += (r.high - r.score) * (r.high - r.score);
    if (!r.nll) continue;
    sums.nll += *r.nll;
    sums.nll_variance += r.stderr_nll * r.stderr_nll;
    ++sums.nll_tasks;
  }
  std::vector<MeanScoreRow> rows;
  for (auto& [place, sums] : groups) {
    const auto tasks = static_cast<double>(sums.row.tasks);
    sums.row.score /= tasks;
    sums.row.stderr_score = std::sqrt(sums.variance) / tasks;
    sums.row.low = std::max(0.0, sums.row.score - std::sqrt(sums.below) / tasks);
    sums.row.high = std::min(1.0, sums.row.score + std::sqrt(sums.above) / tasks);
    if (sums.nll_tasks == sums.row.tasks) {
      sums.row.nll = sums.nll / tasks;
      sums.row.stderr_nll = std::sqrt(sums.nll_variance) / tasks;
    }
    rows.push_back(std::move(sums.row));
  }
  return rows;
}

EffectiveLength effective_length(std::span<const MeanScoreRow> rows, std::string_view method, double factor,
                                 double threshold) {
  std::size_t tasks = 0;
  for (const MeanScoreRow& r : rows) tasks = std::max(tasks, r.tasks);
  EffectiveLength out;
  for (const MeanScoreRow& r : rows) {
    if (r.method != method || r.factor != factor || r.tasks != tasks) continue;
    if (r.score > threshold) out.length = std::max(out.length, r.length);
    if (r.low > threshold) out.sure = std::max(out.sure, r.length);
  }
  return out;
}

namespace {

// Of two plans at one length: nothing else is looked at.
Answers answers_at(std::span<const Record> records, const PlanName& a, const PlanName& b, std::string_view task,
                   std::int64_t length) {
  Answers answers;
  for (const Record& r : records) {
    if (r.answer() == nullptr || r.answer()->length != length || (!task.empty() && r.task != task)) continue;
    if (const PlanName plan{r.method, r.factor}; plan == a || plan == b) answers.add(r);
  }
  answers.close();
  return answers;
}

}  // namespace

ScoreComparison compare_scores(std::span<const Record> records, std::string_view method_a, double factor_a,
                               std::string_view method_b, double factor_b, std::string_view task, std::int64_t length) {
  const PlanName a{std::string(method_a), factor_a};
  const PlanName b{std::string(method_b), factor_b};
  ScoreComparison out = answers_at(records, a, b, task, length).compare(a, b, length);
  out.task = task;
  return out;
}

NllComparison compare_nll(std::span<const Record> records, std::string_view method_a, double factor_a,
                          std::string_view method_b, double factor_b, std::string_view task, std::int64_t length) {
  const PlanName a{std::string(method_a), factor_a};
  const PlanName b{std::string(method_b), factor_b};
  NllComparison out = answers_at(records, a, b, task, length).compare_nll(a, b, length);
  out.task = task;
  return out;
}

ScoreComparison compare_scores(std::span<const ScorePair> pairs) {
  std::vector<double> points;
  points.reserve(pairs.size());
  for (const auto& [a, b] : pairs) points.push_back(100 * (a - b));
  return compare_differences(std::move(points));
}

NllComparison compare_nll(std::span<const ScorePair> pairs) {
  std::vector<double> nats;
  nats.reserve(pairs.size());
  for (const auto& [a, b] : pairs) nats.push_back(a - b);
  return compare_nll_differences(std::move(nats));
}

ScoreComparison compare_differences(std::vector<double> points) {
  ScoreComparison out;
  out.samples = points.size();
  if (points.empty()) return out;
  std::sort(points.begin(), points.end());  // the same whatever the order of the records
  const Interval interval = interval_of(points);
  out.a_better = static_cast<std::size_t>(std::count_if(points.begin(), points.end(), [](double d) { return d > 0; }));
  out.b_better = static_cast<std::size_t>(std::count_if(points.begin(), points.end(), [](double d) { return d < 0; }));
  out.difference = estimate(points).mean;
  out.low = std::max(-100.0, interval.low);
  out.high = std::min(100.0, interval.high);
  if (points.size() > 1 && points.front() == points.back()) {
    // All alike: resampling knows of no other outcome. With 95 % confidence less than this share would be another
    const double other = 100 * (1 - std::pow(0.05, 1 / static_cast<double>(points.size())));
    out.low = std::max(-100.0, out.difference - other);
    out.high = std::min(100.0, out.difference + other);
  }
  std::erase(points, 0.0);
  out.p_value = permutation_test(points);
  out.differs = out.p_value < kLevel;
  return out;
}

NllComparison compare_nll_differences(std::vector<double> nats) {
  NllComparison out{.samples = nats.size()};
  if (nats.empty()) return out;
  std::sort(nats.begin(), nats.end());
  const Interval interval = interval_of(nats);
  out.difference = estimate(nats).mean;
  // A few answers that are lost make it lopsided; ± is the longer side
  const double half = std::max(out.difference - interval.low, interval.high - out.difference);
  out.low = out.difference - half;
  out.high = out.difference + half;
  out.differs = nats.size() >= kFewestSamples && (out.low > 0 || out.high < 0);
  return out;
}

std::string NllComparison::verdict(std::string_view with) const {
  if (samples == 0) return "nothing to compare";
  if (samples < kFewestSamples) return fmt::format("too few samples ({}) to tell ({:+.3f} nats)", samples, difference);
  const std::string found = fmt::format("{:+.3f} ± {:.3f} nats", difference, (high - low) / 2);
  return differs ? found : fmt::format("{} ({})", tied(with), found);
}

std::string NllComparison::cell() const {
  if (samples == 0) return "-";
  if (samples < kFewestSamples) return fmt::format("{:+.3f} (n = {})", difference, samples);
  return fmt::format("{:+.3f} ± {:.3f}{}", difference, (high - low) / 2, differs ? " *" : "");
}

std::string ScoreComparison::verdict(std::string_view with) const {
  if (samples == 0) return "nothing to compare";
  if (too_few()) return fmt::format("too few samples ({}) to tell ({:+.1f} points)", samples, difference);
  std::string found = spread(difference, low, high, " points");
  if (disputed()) {
    found += fmt::format("; the interval says {}, the test decides: p = {:.2g}",
                         differs ? "it may be 0" : "it is not 0", p_value);
  }
  return differs ? found : fmt::format("{} ({})", tied(with), found);
}

std::string ScoreComparison::cell() const {
  if (samples == 0) return "-";
  if (too_few()) return fmt::format("{:+.1f} (n = {})", difference, samples);
  return spread(difference, low, high, "") + (differs ? " *" : "");
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "mrrope/statistics.h"
#include "runs/interval.h"

namespace mrrope::eval {

namespace {

constexpr double kNormal95 = 1.959964;
constexpr std::size_t kFewestThatDiffer = 6;  // 2 * 2^-5 > 0.05 > 2 * 2^-6

// Numbers things in the order in which they are first seen.
template <class T>
class Order {
 public:
  std::size_t operator()(const T& thing) { return ranks_.emplace(thing, ranks_.size()).first->second; }

 private:
  std::map<T, std::size_t> ranks_;
};

bool visible(std::string_view text) { return text.find_first_not_of(" \t\r\n") != std::string_view::npos; }

struct Sample {
  std::string_view task;
  std::int64_t length = 0;
  std::string_view document_hash;
  bool operator==(const Sample&) const = default;
};

struct HashOfSample {
  std::size_t operator()(const Sample& s) const noexcept {
    const std::hash<std::string_view> hash;
    return hash(s.document_hash) ^ (hash(s.task) * 31) ^ static_cast<std::size_t>(s.length);
  }
};

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

}  // namespace

std::vector<ScoreRow> score_table(std::span<const Record> records) {
  struct Group {
    std::vector<double> scores;
    std::size_t cut = 0;
    std::size_t empty = 0;
    const Record* first = nullptr;
    std::unordered_set<std::string_view> seen;  // prompts
  };
  Order<std::string_view> task_order;
  Order<std::pair<std::string_view, double>> plan_order;
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t>, Group> groups;
  for (const Record& r : records) {
    if (!r.answer) continue;
    Group& group = groups[{task_order(r.task), plan_order({r.method, r.factor}), r.answer->length}];
    if (!group.seen.insert(r.document_hash).second) continue;
    if (group.first == nullptr) group.first = &r;
    group.scores.push_back(r.answer->score);
    if (r.answer->finish == "length") ++group.cut;
    if (!visible(r.answer->text)) ++group.empty;
  }
  std::vector<ScoreRow> rows;
  for (const auto& [place, group] : groups) {
    const Estimate e = estimate(group.scores);
    const auto n = static_cast<double>(e.n);
    rows.push_back({.task = group.first->task,
                    .method = group.first->method,
                    .factor = group.first->factor,
                    .length = group.first->answer->length,
                    .score = e.mean,
                    .stderr_score = e.stderr_mean,
                    .samples = e.n,
                    .cut = static_cast<double>(group.cut) / n,
                    .empty = static_cast<double>(group.empty) / n});
  }
  return rows;
}

std::vector<MeanScoreRow> mean_scores(std::span<const ScoreRow> table) {
  struct Sums {
    MeanScoreRow row;
    double variance = 0;  // of the sum of task scores
    double cautious = 0;  // the same, with two right and two wrong answers more for each task
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
    const double n = static_cast<double>(r.samples) + 4;
    const double p = (r.score * static_cast<double>(r.samples) + 2) / n;
    sums.cautious += p * (1 - p) / n;  // scores between 0 and 1 spread less than that
  }
  std::vector<MeanScoreRow> rows;
  for (auto& [place, sums] : groups) {
    const auto tasks = static_cast<double>(sums.row.tasks);
    sums.row.score /= tasks;
    sums.row.stderr_score = std::sqrt(sums.variance) / tasks;
    sums.row.low = std::max(0.0, sums.row.score - kNormal95 * std::sqrt(sums.cautious) / tasks);
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

ScoreComparison compare_scores(std::span<const Record> records, std::string_view method_a, double factor_a,
                               std::string_view method_b, double factor_b, std::string_view task, std::int64_t length) {
  // The score of a, then of a and b, by sample. A sample measured twice counts once, as it was first.
  struct Pair {
    const Record* a = nullptr;
    const Record* b = nullptr;
  };
  std::unordered_map<Sample, Pair, HashOfSample> pairs;
  for (const Record& r : records) {
    if (!r.answer || r.answer->length != length || (!task.empty() && r.task != task)) continue;
    const bool is_a = r.method == method_a && r.factor == factor_a;
    const bool is_b = r.method == method_b && r.factor == factor_b;
    if (!is_a && !is_b) continue;
    Pair& pair = pairs[{r.task, length, r.document_hash}];
    if (is_a && pair.a == nullptr) pair.a = &r;
    if (is_b && pair.b == nullptr) pair.b = &r;
  }
  std::vector<ScorePair> scores;
  for (const auto& [sample, pair] : pairs) {
    if (pair.a != nullptr && pair.b != nullptr) scores.push_back({pair.a->answer->score, pair.b->answer->score});
  }
  ScoreComparison out = compare_scores(scores);
  out.task = task;
  out.length = length;
  return out;
}

ScoreComparison compare_scores(std::span<const ScorePair> pairs) {
  ScoreComparison out;
  std::vector<double> differences;
  bool binary = true;
  for (const auto& [a, b] : pairs) {
    binary = binary && (a == 0 || a == 1) && (b == 0 || b == 1);
    if (a > b) ++out.a_better;
    if (b > a) ++out.b_better;
    differences.push_back(100 * (a - b));
  }
  out.samples = differences.size();
  if (differences.empty()) return out;
  std::sort(differences.begin(), differences.end());  // the same verdict whatever the order of the records
  out.difference = estimate(differences).mean;
  const Interval interval = differences.size() > 1 ? interval95(differences)
                                                   : Interval{-std::numeric_limits<double>::infinity(),
                                                              std::numeric_limits<double>::infinity()};
  out.low = interval.low;
  out.high = interval.high;
  if (binary && differences.size() > 1 && differences.front() == differences.back()) {
    // All alike: resampling knows of no other outcome. With 95 % confidence less than this share would be another
    const double other = 100 * (1 - std::pow(0.05, 1 / static_cast<double>(differences.size())));
    out.low = std::max(-100.0, out.difference - other);
    out.high = std::min(100.0, out.difference + other);
  }
  out.p_value = sign_test(std::min(out.a_better, out.b_better), std::max(out.a_better, out.b_better));
  const bool enough = binary ? out.p_value < 0.05 : out.a_better + out.b_better >= kFewestThatDiffer;
  out.differs = enough && (out.low > 0 || out.high < 0);
  return out;
}

std::string ScoreComparison::verdict() const {
  if (samples == 0) return "nothing to compare";
  const double half = (high - low) / 2;
  if (!std::isfinite(half)) return fmt::format("{:+.1f} points, one value only", difference);
  const bool apart = low > 0 || high < 0;
  if (!differs) {
    return fmt::format("{} ({:+.1f} ± {:.1f} points)", apart ? "too few to tell" : "no difference", difference, half);
  }
  return fmt::format("{:+.1f} ± {:.1f} points", difference, half);
}

std::string ScoreComparison::cell() const {
  if (samples == 0) return "-";
  if (!std::isfinite(high - low)) return fmt::format("{:+.1f}", difference);
  return fmt::format("{:+.1f} ± {:.1f}{}", difference, (high - low) / 2, differs ? " *" : "");
}

}  // namespace mrrope::eval

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
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

// Values of the samples that both plans have. A sample measured twice counts once, as it was first.
std::vector<ScorePair> paired(std::span<const Record> records, const PlanName& plan_a, const PlanName& plan_b,
                              std::string_view task, std::int64_t length,
                              const std::function<std::optional<double>(const Answer&)>& value) {
  struct Pair {
    const Answer* a = nullptr;
    const Answer* b = nullptr;
  };
  std::unordered_map<Sample, Pair, HashOfSample> pairs;
  for (const Record& r : records) {
    const Answer* answer = r.answer();
    if (answer == nullptr || answer->length != length || (!task.empty() && r.task != task)) continue;
    const bool is_a = r.method == plan_a.method && r.factor == plan_a.factor;
    const bool is_b = r.method == plan_b.method && r.factor == plan_b.factor;
    if (!is_a && !is_b) continue;
    Pair& pair = pairs[{r.task, length, r.document_hash}];
    if (is_a && pair.a == nullptr) pair.a = answer;
    if (is_b && pair.b == nullptr) pair.b = answer;
  }
  std::vector<ScorePair> values;
  for (const auto& [sample, pair] : pairs) {
    if (pair.a == nullptr || pair.b == nullptr) continue;
    const std::optional<double> a = value(*pair.a);
    const std::optional<double> b = value(*pair.b);
    if (a && b) values.push_back({*a, *b});
  }
  return values;
}

// The mean of differences and its interval; of a single one it is infinite. Sorted: the same whatever the order of the
// records.
Interval interval_of(std::vector<double>& differences) {
  std::sort(differences.begin(), differences.end());
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

}  // namespace

std::optional<double> nll_per_token(const Answer& answer) {
  if (!answer.right) return std::nullopt;
  return answer.right->nll / static_cast<double>(answer.right->tokens);
}

bool is_empty(const Answer& answer) { return answer.text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

struct ScoreTable::Groups {
  struct Group {
    Entry first = {};  // for its names
    std::vector<double> scores = {}, nll = {};
    std::size_t cut = 0;
    std::size_t empty = 0;
  };
  Order<std::string_view> task_order;
  Order<std::pair<std::string_view, double>> plan_order;
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t>, Group> groups;
};

ScoreTable::ScoreTable() : groups_(std::make_unique<Groups>()) {}
ScoreTable::~ScoreTable() = default;

void ScoreTable::add(const Entry& entry) {
  Groups& all = *groups_;
  const std::tuple place(all.task_order(entry.task), all.plan_order({entry.method, entry.factor}), entry.length);
  Groups::Group& group = all.groups.try_emplace(place, Groups::Group{.first = entry}).first->second;
  group.scores.push_back(entry.score);
  if (entry.nll) group.nll.push_back(*entry.nll);
  if (entry.cut) ++group.cut;
  if (entry.empty) ++group.empty;
}

std::vector<ScoreRow> ScoreTable::rows() const {
  std::vector<ScoreRow> rows;
  for (const auto& [place, group] : groups_->groups) {
    const Estimate score = estimate(group.scores);
    const Estimate nll = estimate(group.nll);
    const auto n = static_cast<double>(score.n);
    rows.push_back({.task = std::string(group.first.task),
                    .method = std::string(group.first.method),
                    .factor = group.first.factor,
                    .length = group.first.length,
                    .score = score.mean,
                    .stderr_score = score.stderr_mean,
                    .samples = score.n,
                    .cut = static_cast<double>(group.cut) / n,
                    .empty = static_cast<double>(group.empty) / n,
                    .nll = nll.n > 0 ? std::optional(nll.mean) : std::nullopt,
                    .stderr_nll = nll.stderr_mean});
  }
  return rows;
}

std::vector<ScoreRow> score_table(std::span<const Record> records) {
  ScoreTable table;
  std::set<std::tuple<std::string_view, std::string_view, double, std::int64_t, std::string_view>> seen;
  for (const Record& r : records) {
    const Answer* answer = r.answer();
    if (answer == nullptr) continue;
    if (!seen.emplace(r.task, r.method, r.factor, answer->length, r.document_hash).second) continue;
    table.add({.task = r.task,
               .method = r.method,
               .factor = r.factor,
               .length = answer->length,
               .score = answer->score,
               .nll = nll_per_token(*answer),
               .cut = answer->finish == "length",
               .empty = is_empty(*answer)});
  }
  return table.rows();
}

std::vector<MeanScoreRow> mean_scores(std::span<const ScoreRow> table) {
  struct Sums {
    MeanScoreRow row;
    double variance = 0;  // of the sum of task scores
    double cautious = 0;  // the same, with two right and two wrong answers more for each task
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
    const double n = static_cast<double>(r.samples) + 4;
    const double p = (r.score * static_cast<double>(r.samples) + 2) / n;
    sums.cautious += p * (1 - p) / n;  // scores between 0 and 1 spread less than that
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
    sums.row.low = std::max(0.0, sums.row.score - kNormal95 * std::sqrt(sums.cautious) / tasks);
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

ScoreComparison compare_scores(std::span<const Record> records, std::string_view method_a, double factor_a,
                               std::string_view method_b, double factor_b, std::string_view task, std::int64_t length) {
  ScoreComparison out =
      compare_scores(paired(records, {std::string(method_a), factor_a}, {std::string(method_b), factor_b}, task, length,
                            [](const Answer& answer) { return std::optional(answer.score); }));
  out.task = task;
  out.length = length;
  return out;
}

NllComparison compare_nll(std::span<const Record> records, std::string_view method_a, double factor_a,
                          std::string_view method_b, double factor_b, std::string_view task, std::int64_t length) {
  NllComparison out = compare_nll(paired(records, {std::string(method_a), factor_a}, {std::string(method_b), factor_b},
                                         task, length, nll_per_token));
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
  const Interval interval = interval_of(differences);
  out.difference = estimate(differences).mean;
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

NllComparison compare_nll(std::span<const ScorePair> pairs) {
  NllComparison out{.samples = pairs.size()};
  if (pairs.empty()) return out;
  std::vector<double> differences;
  for (const auto& [a, b] : pairs) differences.push_back(a - b);
  const Interval interval = interval_of(differences);
  out.difference = estimate(differences).mean;
  // A few answers that are lost make it lopsided; ± is the longer side
  const double half = std::max(out.difference - interval.low, interval.high - out.difference);
  out.low = out.difference - half;
  out.high = out.difference + half;
  out.differs = pairs.size() >= kFewestThatDiffer && (out.low > 0 || out.high < 0);
  return out;
}

std::string NllComparison::verdict() const {
  if (samples == 0) return "nothing to compare";
  const double half = (high - low) / 2;
  if (!std::isfinite(half)) return fmt::format("{:+.3f} nats, one value only", difference);
  if (differs) return fmt::format("{:+.3f} ± {:.3f} nats", difference, half);
  const bool apart = low > 0 || high < 0;
  return fmt::format("{} ({:+.3f} ± {:.3f} nats)", apart ? "too few to tell" : "no difference", difference, half);
}

std::string NllComparison::cell() const {
  if (samples == 0) return "-";
  if (!std::isfinite(high - low)) return fmt::format("{:+.3f}", difference);
  return fmt::format("{:+.3f} ± {:.3f}{}", difference, (high - low) / 2, differs ? " *" : "");
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

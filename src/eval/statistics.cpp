// SPDX-License-Identifier: MIT
#include "mrrope/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "eval/interval.h"

namespace mrrope {

namespace {

// A document's -ln p per token over a range that ends at `length`.
struct Mean {
  double value = 0;
  std::int64_t predicted = 0;
};

constexpr std::int64_t kLast = 2048;

const Record::Point* point_at(const Record& record, std::int64_t length) {
  for (const Record::Point& p : record.points) {
    if (p.length == length && p.predicted > 0) return &p;
  }
  return nullptr;
}

Mean over_all(const Record::Point& p) { return {p.nll / static_cast<double>(p.predicted), p.predicted}; }

// Sums of the stretches that lie in (length - kLast, length]; token 0 is never predicted.
std::optional<Mean> over_last(const Record& record, std::int64_t length) {
  if (record.bucket <= 0 || length % record.bucket != 0) return std::nullopt;
  const std::int64_t first = std::max<std::int64_t>(0, length - kLast) / record.bucket;
  const std::int64_t end = length / record.bucket;
  if (end > static_cast<std::int64_t>(record.bucket_nll.size())) return std::nullopt;
  Mean mean;
  for (std::int64_t b = first; b < end; ++b) {
    mean.value += record.bucket_nll[static_cast<std::size_t>(b)];
    mean.predicted += b == 0 ? record.bucket - 1 : record.bucket;
  }
  if (mean.predicted <= 0) return std::nullopt;
  mean.value /= static_cast<double>(mean.predicted);
  return mean;
}

// Means of the stretches up to `length`: what a single document can say about its own spread.
std::vector<double> stretches(const Record& record, std::int64_t from, std::int64_t length) {
  std::vector<double> means;
  if (record.bucket <= 1) return means;
  for (std::int64_t b = from / record.bucket; (b + 1) * record.bucket <= length; ++b) {
    if (b >= static_cast<std::int64_t>(record.bucket_nll.size())) break;
    means.push_back(record.bucket_nll[static_cast<std::size_t>(b)] /
                    static_cast<double>(b == 0 ? record.bucket - 1 : record.bucket));
  }
  return means;
}

bool is(const Record& record, std::string_view method, double factor) {
  return record.method == method && record.factor == factor;
}

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

std::string PlanName::text() const { return method == "none" ? method : fmt::format("{} x{:g}", method, factor); }

Result<PlanName> choose_baseline(std::span<const PlanName> plans, std::string_view wanted) {
  std::string names;
  for (const PlanName& plan : plans) {
    if (plan.method == wanted || plan.text() == wanted) return plan;
    names += (names.empty() ? "" : ", ") + plan.text();
  }
  if (!wanted.empty()) {
    return Error{ErrorCode::invalid_argument, fmt::format("no records of \"{}\" (there are: {})", wanted, names),
                 "--baseline"};
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

std::vector<PplRow> ppl_table(std::span<const Record> records) {
  std::vector<PplRow> rows;
  // Methods in the order they were measured
  std::vector<std::pair<std::string, double>> plans;
  std::vector<std::int64_t> lengths;
  for (const Record& r : records) {
    const std::pair plan(r.method, r.factor);
    if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
    for (const Record::Point& p : r.points) lengths.push_back(p.length);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());

  for (const auto& [method, factor] : plans) {
    for (const std::int64_t length : lengths) {
      PplRow row{.method = method, .factor = factor, .length = length};
      std::vector<double> means;
      std::vector<double> last;
      double kl = 0;
      double kl_tokens = 0;
      const Record* only = nullptr;
      for (const Record& r : records) {
        const Record::Point* p = is(r, method, factor) ? point_at(r, length) : nullptr;
        if (p == nullptr) continue;
        only = &r;
        means.push_back(over_all(*p).value);
        row.predicted += p->predicted;
        if (const auto mean = over_last(r, length)) last.push_back(mean->value);
        kl += r.kl;
        kl_tokens += static_cast<double>(r.kl_tokens);
      }
      if (means.empty()) continue;
      const Estimate nll = estimate(means);
      row.documents = means.size();
      row.ppl = std::exp(nll.mean);
      const double spread = means.size() > 1 ? nll.stderr_mean : estimate(stretches(*only, 0, length)).stderr_mean;
      row.stderr_ppl = row.ppl * spread;
      row.last_ppl = last.size() == means.size() ? std::exp(estimate(last).mean) : row.ppl;
      if (kl_tokens > 0) row.kl = kl / kl_tokens;
      rows.push_back(row);
    }
  }
  return rows;
}

Comparison compare_ppl(std::span<const Record> records, std::string_view method_a, double factor_a,
                       std::string_view method_b, double factor_b, std::int64_t length, bool last) {
  Comparison out{.length = length};
  std::vector<double> differences;
  std::pair<const Record*, const Record*> only;
  for (const Record& a : records) {
    if (!is(a, method_a, factor_a) || point_at(a, length) == nullptr) continue;
    for (const Record& b : records) {
      if (!is(b, method_b, factor_b) || b.document_hash != a.document_hash || point_at(b, length) == nullptr) continue;
      const auto mean_a = last ? over_last(a, length) : std::optional(over_all(*point_at(a, length)));
      const auto mean_b = last ? over_last(b, length) : std::optional(over_all(*point_at(b, length)));
      if (!mean_a || !mean_b || mean_a->predicted != mean_b->predicted) continue;
      differences.push_back(mean_a->value - mean_b->value);
      only = {&a, &b};
      break;
    }
  }
  out.documents = differences.size();
  if (differences.empty()) return out;
  if (differences.size() == 1) {
    // One document: its stretches, in pairs
    const std::int64_t from = last ? std::max<std::int64_t>(0, length - kLast) : 0;
    const std::vector<double> a = stretches(*only.first, from, length);
    const std::vector<double> b = stretches(*only.second, from, length);
    const double whole = differences.front();
    if (a.size() == b.size() && a.size() > 2) {
      differences.clear();
      for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
    }
    const Estimate d = estimate(differences);
    const double half = d.n > 1 ? student_t95(d.n - 1) * d.stderr_mean : INFINITY;
    out.ratio = std::exp(whole);
    out.ratio_low = std::exp(whole - half);
    out.ratio_high = std::exp(whole + half);
  } else {
    const Estimate d = estimate(differences);
    const eval::Interval interval = eval::interval95(differences);
    out.ratio = std::exp(d.mean);
    out.ratio_low = std::exp(interval.low);
    out.ratio_high = std::exp(interval.high);
  }
  out.differs = differences.size() >= 3 && (out.ratio_high < 1 || out.ratio_low > 1);
  return out;
}

namespace {

// Beyond this many percent to each side an interval is far from even (1.3 to 12.1 times), and ± would reach below zero:
// then the factor and its bounds are given.
constexpr double kWide = 50;

double half_percent(const Comparison& c) { return 50 * (c.ratio_high - c.ratio_low); }

}  // namespace

std::string Comparison::verdict() const {
  if (documents == 0) return "nothing to compare";
  const double half = half_percent(*this);
  const double percent = 100 * (ratio - 1);
  if (!std::isfinite(half)) return fmt::format("{:+.1f} %, one value only", percent);
  const bool wide = half > kWide;
  if (differs && wide) return fmt::format("{:.1f} times as high ({:.1f} to {:.1f})", ratio, ratio_low, ratio_high);
  if (differs) return fmt::format("{:.1f} ± {:.1f} % {}", std::fabs(percent), half, percent < 0 ? "lower" : "higher");
  // Two documents give an interval, and no more: 12.7 standard errors to each side
  const bool few = documents == 2 || ratio_high < 1 || ratio_low > 1;
  return fmt::format("{} ({})", few ? "too few to tell" : "no difference",
                     wide ? fmt::format("{:.1f} times as high, {:.1f} to {:.1f}", ratio, ratio_low, ratio_high)
                          : fmt::format("{:+.1f} ± {:.1f} %", percent, half));
}

std::string Comparison::cell() const {
  if (documents == 0) return "-";
  const double half = half_percent(*this);
  const double percent = 100 * (ratio - 1);
  if (!std::isfinite(half)) return fmt::format("{:+.1f} %", percent);
  const char* star = differs ? " *" : "";
  if (half > kWide) return fmt::format("{:.1f}x ({:.1f} to {:.1f}){}", ratio, ratio_low, ratio_high, star);
  return fmt::format("{:+.1f} ± {:.1f} %{}", percent, half, star);
}

}  // namespace mrrope

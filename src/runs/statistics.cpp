// SPDX-License-Identifier: MIT
#include "mrrope/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/unicode.h"
#include "runs/interval.h"

namespace mrrope::eval {

namespace {

// A document's -ln p per token over a range that ends at `length`.
struct Mean {
  double value = 0;
  std::int64_t predicted = 0;
};

constexpr std::int64_t kLast = 2048;

const Reading::Point* point_at(const Record& record, std::int64_t length) {
  const Reading* reading = record.reading();
  if (reading == nullptr) return nullptr;
  for (const Reading::Point& p : reading->points) {
    if (p.length == length && p.predicted > 0) return &p;
  }
  return nullptr;
}

Mean over_all(const Reading::Point& p) { return {p.nll / static_cast<double>(p.predicted), p.predicted}; }

// What is left of the sum at `length` without the stretches before (length - kLast): from the end of a stretch on, so
// up to a stretch more than kLast. Token 0 is never predicted.
std::optional<Mean> over_last(const Reading& reading, const Reading::Point& p) {
  if (reading.bucket <= 0) return std::nullopt;
  const auto before = static_cast<std::size_t>(std::max<std::int64_t>(0, p.length - kLast) / reading.bucket);
  if (before == 0) return over_all(p);
  if (before > reading.bucket_nll.size()) return std::nullopt;
  const double sum = std::accumulate(reading.bucket_nll.begin(),
                                     reading.bucket_nll.begin() + static_cast<std::ptrdiff_t>(before), 0.0);
  const std::int64_t predicted = p.length - static_cast<std::int64_t>(before) * reading.bucket;
  return Mean{(p.nll - sum) / static_cast<double>(predicted), predicted};
}

// Means of the stretches up to `length`: what a single document can say about its own spread.
std::vector<double> stretches(const Reading& reading, std::int64_t from, std::int64_t length) {
  std::vector<double> means;
  if (reading.bucket <= 1) return means;
  for (std::int64_t b = from / reading.bucket; (b + 1) * reading.bucket <= length; ++b) {
    if (b >= static_cast<std::int64_t>(reading.bucket_nll.size())) break;
    means.push_back(reading.bucket_nll[static_cast<std::size_t>(b)] /
                    static_cast<double>(b == 0 ? reading.bucket - 1 : reading.bucket));
  }
  return means;
}

// A document under a plan, as far as `length`.
struct Measured {
  std::string_view document;  // its hash
  const Reading* reading = nullptr;
  const Reading::Point* point = nullptr;
};

// Each document once, as it was measured first; where KL was asked for, as it was last.
std::vector<Measured> measured(std::span<const Record> records, std::string_view method, double factor,
                               std::int64_t length) {
  std::vector<Measured> documents;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Record& r : records) {
    if (r.method != method || r.factor != factor) continue;
    const Reading::Point* p = point_at(r, length);
    if (p == nullptr) continue;
    const auto [place, is_new] = places.emplace(r.document_hash, documents.size());
    const Measured found{r.document_hash, r.reading(), p};
    if (is_new) documents.push_back(found);
    else if (found.reading->kl_tokens > 0) documents[place->second] = found;
  }
  return documents;
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

std::vector<PplRow> ppl_table(std::span<const Record> records) {
  std::vector<PplRow> rows;
  // Methods in the order they were measured
  std::vector<std::pair<std::string, double>> plans;
  std::vector<std::int64_t> lengths;
  for (const Record& r : records) {
    const std::pair plan(r.method, r.factor);
    if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
    if (const Reading* reading = r.reading()) {
      for (const Reading::Point& p : reading->points) lengths.push_back(p.length);
    }
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
      const Reading* only = nullptr;
      for (const auto& [document, reading, point] : measured(records, method, factor, length)) {
        only = reading;
        means.push_back(over_all(*point).value);
        row.predicted += point->predicted;
        if (const auto mean = over_last(*reading, *point)) last.push_back(mean->value);
        kl += reading->kl;
        kl_tokens += static_cast<double>(reading->kl_tokens);
      }
      if (means.empty()) continue;
      const Estimate nll = estimate(means);
      row.documents = means.size();
      row.ppl = std::exp(nll.mean);
      const double spread = means.size() > 1 ? nll.stderr_mean : estimate(stretches(*only, 0, length)).stderr_mean;
      row.stderr_ppl = row.ppl * spread;
      if (length > kLast && last.size() == means.size()) row.last_ppl = std::exp(estimate(last).mean);
      if (kl_tokens > 0) row.kl = kl / kl_tokens;
      row.kl_tokens = static_cast<std::int64_t>(kl_tokens);
      rows.push_back(row);
    }
  }
  return rows;
}

Comparison compare_ppl(std::span<const Record> records, std::string_view method_a, double factor_a,
                       std::string_view method_b, double factor_b, std::int64_t length, bool last) {
  Comparison out{.length = length};
  std::vector<double> differences;
  std::pair<const Reading*, const Reading*> only;
  const std::vector<Measured> of_b = measured(records, method_b, factor_b, length);
  for (const Measured& a : measured(records, method_a, factor_a, length)) {
    const auto b =
        std::find_if(of_b.begin(), of_b.end(), [&](const Measured& other) { return other.document == a.document; });
    if (b == of_b.end()) continue;
    const auto mean_a = last ? over_last(*a.reading, *a.point) : std::optional(over_all(*a.point));
    const auto mean_b = last ? over_last(*b->reading, *b->point) : std::optional(over_all(*b->point));
    if (!mean_a || !mean_b || mean_a->predicted != mean_b->predicted) continue;
    differences.push_back(mean_a->value - mean_b->value);
    only = {a.reading, b->reading};
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
    const Interval interval = interval95(differences);
    out.ratio = std::exp(d.mean);
    out.ratio_low = std::exp(interval.low);
    out.ratio_high = std::exp(interval.high);
  }
  out.differs = differences.size() >= 3 && (out.ratio_high < 1 || out.ratio_low > 1);
  return out;
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

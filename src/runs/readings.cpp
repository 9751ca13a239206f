// SPDX-License-Identifier: MIT
#define XXH_INLINE_ALL
#include "runs/readings.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runs/interval.h"

namespace mrrope::eval {

namespace {

using Reach = Readings::Reach;

std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// A document's -ln p per token over a range that ends at a length.
struct Mean {
  double value = 0;
  std::int64_t predicted = 0;
};

constexpr std::int64_t kLast = 2048;

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

// Each document once, as it was measured first; where KL was asked for, as it was last.
void keep_one_of_each(std::vector<Reach>& reaches) {
  std::unordered_map<std::uint64_t, std::size_t> places;
  std::size_t count = 0;
  for (const Reach& reach : reaches) {
    const auto [place, fresh] = places.emplace(reach.document->hash, count);
    if (fresh) reaches[count++] = reach;
    else if (reach.document->reading.kl_tokens > 0) reaches[place->second] = reach;
  }
  reaches.resize(count);
  reaches.shrink_to_fit();
}

PplRow row_of(const PlanName& plan, std::int64_t length, const std::vector<Reach>& reaches) {
  PplRow row{.method = plan.method, .factor = plan.factor, .length = length};
  std::vector<double> means;
  std::vector<double> last;
  double kl = 0;
  double kl_tokens = 0;
  for (const auto& [document, point] : reaches) {
    const Reading& reading = document->reading;
    means.push_back(over_all(*point).value);
    row.predicted += point->predicted;
    if (const auto mean = over_last(reading, *point)) last.push_back(mean->value);
    kl += reading.kl;
    kl_tokens += static_cast<double>(reading.kl_tokens);
  }
  const Estimate nll = estimate(means);
  row.documents = means.size();
  row.ppl = std::exp(nll.mean);
  const double spread = means.size() > 1
                            ? nll.stderr_mean
                            : estimate(stretches(reaches.front().document->reading, 0, length)).stderr_mean;
  row.stderr_ppl = row.ppl * spread;
  if (length > kLast && last.size() == means.size()) row.last_ppl = std::exp(estimate(last).mean);
  if (kl_tokens > 0) row.kl = kl / kl_tokens;
  row.kl_tokens = static_cast<std::int64_t>(kl_tokens);
  return row;
}

Comparison compared(const std::vector<Reach>& of_a, const std::vector<Reach>& of_b, std::int64_t length, bool last) {
  Comparison out{.length = length};
  std::unordered_map<std::uint64_t, const Reach*> by_hash;
  for (const Reach& b : of_b) by_hash.emplace(b.document->hash, &b);
  std::vector<double> differences;
  std::pair<const Reading*, const Reading*> only;
  for (const Reach& a : of_a) {
    const auto b = by_hash.find(a.document->hash);
    if (b == by_hash.end()) continue;
    const auto mean = [last](const Reach& r) {
      return last ? over_last(r.document->reading, *r.point) : std::optional(over_all(*r.point));
    };
    const auto mean_a = mean(a);
    const auto mean_b = mean(*b->second);
    if (!mean_a || !mean_b || mean_a->predicted != mean_b->predicted) continue;
    differences.push_back(mean_a->value - mean_b->value);
    only = {&a.document->reading, &b->second->document->reading};
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

}  // namespace

bool SeenTexts::add(std::string_view text) { return seen_.find_or_add(seen_hash(hash_of(text))) == nullptr; }

void Readings::add(const Record& record) {
  const Reading& r = *record.reading();
  const std::size_t plan = plans_(PlanView{record.method, record.factor});
  if (plan == measured_.size()) measured_.emplace_back();
  measured_[plan].documents.push_back(
      {.hash = hash_of(record.document_hash),
       .reading = {
           .points = r.points, .bucket = r.bucket, .bucket_nll = r.bucket_nll, .kl_tokens = r.kl_tokens, .kl = r.kl}});
  const std::array<std::uint64_t, 4> rotation = {plan, hash_of(record.rung),
                                                 XXH3_64bits(r.inv_freq.data(), r.inv_freq.size() * sizeof(double)),
                                                 std::bit_cast<std::uint64_t>(r.attention_scale)};
  if (rotations_seen_.find_or_add(seen_hash(XXH3_64bits(rotation.data(), sizeof rotation))) == nullptr) {
    rotations_.push_back({plan, record.rung, r.inv_freq, r.attention_scale});
  }
}

void Readings::close() {
  for (std::size_t plan = 0; plan < measured_.size(); ++plan) {
    auto& [documents, lengths] = measured_[plan];
    for (const Document& document : documents) {
      for (const Reading::Point& p : document.reading.points) {
        if (p.predicted > 0) lengths[p.length].reaches.push_back({&document, &p});
      }
    }
    for (auto& [length, found] : lengths) {
      keep_one_of_each(found.reaches);
      found.row = rows_.size();
      rows_.push_back(row_of(plans()[plan], length, found.reaches));
    }
  }
}

const Readings::Length* Readings::find(const PlanName& plan, std::int64_t length) const {
  const auto number = plans_.find(plan);
  if (!number) return nullptr;
  const auto found = measured_[*number].lengths.find(length);
  return found != measured_[*number].lengths.end() ? &found->second : nullptr;
}

const PplRow* Readings::row(const PlanName& plan, std::int64_t length) const {
  const Length* found = find(plan, length);
  return found != nullptr ? &rows_[found->row] : nullptr;
}

Comparison Readings::compare(const PlanName& a, const PlanName& b, std::int64_t length, bool last) const {
  const Length* of_a = find(a, length);
  const Length* of_b = find(b, length);
  if (of_a == nullptr || of_b == nullptr) return {.length = length};
  const auto [found, fresh] = compared_.try_emplace({of_a, of_b, last});
  if (fresh) found->second = compared(of_a->reaches, of_b->reaches, length, last);
  return found->second;
}

Readings readings_of(std::span<const Record> records) {
  Readings readings;
  for (const Record& record : records) {
    if (record.reading() != nullptr) readings.add(record);
  }
  readings.close();
  return readings;
}

}  // namespace mrrope::eval

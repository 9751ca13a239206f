// SPDX-License-Identifier: MIT
#include "report/loss_curves.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace mrrope::report {

namespace {

using Document = eval::Readings::Document;

constexpr std::size_t kFewest = 4;

// Of one plan, each once.
std::vector<const Document*> long_enough(const std::deque<Document>& documents, std::size_t stretches) {
  std::vector<const Document*> out;
  std::unordered_set<std::uint64_t> seen;
  for (const Document& d : documents) {
    if (d.reading.bucket_nll.size() >= stretches && seen.insert(d.hash).second) out.push_back(&d);
  }
  return out;
}

}  // namespace

std::optional<LossCurves> loss_curves(const eval::Readings& readings, std::size_t points) {
  LossCurves out{.plans = readings.plans()};
  if (out.plans.empty()) return std::nullopt;
  std::size_t stretches = 0;
  const std::int64_t bucket = readings.of(0).front().reading.bucket;
  for (std::size_t plan = 0; plan < out.plans.size(); ++plan) {
    for (const auto& [hash, read] : readings.of(plan)) {
      if (bucket <= 0 || read.bucket != bucket || read.points.empty()) return std::nullopt;
      const auto whole = static_cast<std::size_t>(read.points.back().length / bucket);
      stretches = std::max(stretches, std::min(read.bucket_nll.size(), whole));
    }
  }
  // A mean over other texts for each plan would compare texts
  std::unordered_map<std::uint64_t, std::size_t> measured;  // plans by document
  for (std::size_t plan = 0; plan < out.plans.size(); ++plan) {
    for (const Document* d : long_enough(readings.of(plan), stretches)) ++measured[d->hash];
  }
  std::erase_if(measured, [&](const auto& document) { return document.second < out.plans.size(); });
  if (stretches < kFewest || measured.empty()) return std::nullopt;
  out.documents = measured.size();
  const std::size_t step = (stretches + points - 1) / points;
  out.stretch = static_cast<std::int64_t>(step) * bucket;
  for (std::size_t to = step; to < stretches + step; to += step) {
    out.ends.push_back(static_cast<std::int64_t>(std::min(to, stretches)) * bucket);
  }
  for (std::size_t plan = 0; plan < out.plans.size(); ++plan) {
    std::vector<double>& curve = out.nll.emplace_back(out.ends.size(), 0);
    std::vector<double> tokens(out.ends.size(), 0);
    for (const Document* d : long_enough(readings.of(plan), stretches)) {
      if (!measured.contains(d->hash)) continue;
      for (std::size_t b = 0; b < stretches; ++b) {
        curve[b / step] += d->reading.bucket_nll[b];
        tokens[b / step] += static_cast<double>(b == 0 ? bucket - 1 : bucket);  // the first token is not predicted
      }
    }
    for (std::size_t i = 0; i < curve.size(); ++i) curve[i] /= tokens[i];
  }
  return out;
}

}  // namespace mrrope::report

// SPDX-License-Identifier: MIT
#include "report/loss_curves.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "report/runs.h"

namespace mrrope::report {

namespace {

constexpr std::size_t kFewest = 4;

// A mean over other texts for each plan would compare texts.
std::set<std::string> common_documents(std::span<const eval::Record> records, std::size_t plans,
                                       std::size_t stretches) {
  std::map<std::string, std::set<std::string>> seen;  // plans by document
  for (const eval::Record& r : records) {
    if (r.reading()->bucket_nll.size() >= stretches)
      seen[r.document_hash].insert(eval::PlanName{r.method, r.factor}.text());
  }
  std::set<std::string> common;
  for (const auto& [hash, measured] : seen) {
    if (measured.size() == plans) common.insert(hash);
  }
  return common;
}

}  // namespace

std::optional<LossCurves> loss_curves(std::span<const eval::Record> records, std::size_t points) {
  LossCurves out{.plans = plans_of(records)};
  std::size_t stretches = 0;
  const std::int64_t bucket = records.empty() ? 0 : records.front().reading()->bucket;
  for (const eval::Record& r : records) {
    const eval::Reading& read = *r.reading();
    if (bucket <= 0 || read.bucket != bucket || read.points.empty()) return std::nullopt;
    const auto whole = static_cast<std::size_t>(read.points.back().length / bucket);
    stretches = std::max(stretches, std::min(read.bucket_nll.size(), whole));
  }
  const std::set<std::string> documents = common_documents(records, out.plans.size(), stretches);
  if (stretches < kFewest || documents.empty()) return std::nullopt;
  out.documents = documents.size();
  const std::size_t step = (stretches + points - 1) / points;
  out.stretch = static_cast<std::int64_t>(step) * bucket;
  for (std::size_t to = step; to < stretches + step; to += step) {
    out.ends.push_back(static_cast<std::int64_t>(std::min(to, stretches)) * bucket);
  }
  for (const eval::PlanName& plan : out.plans) {
    std::vector<double>& curve = out.nll.emplace_back(out.ends.size(), 0);
    std::vector<double> tokens(out.ends.size(), 0);
    std::set<std::string> left = documents;  // each once
    for (const eval::Record& r : records) {
      const std::vector<double>& nll = r.reading()->bucket_nll;
      if (eval::PlanName{r.method, r.factor} != plan || nll.size() < stretches) continue;
      if (left.erase(r.document_hash) == 0) continue;
      for (std::size_t b = 0; b < stretches; ++b) {
        curve[b / step] += nll[b];
        tokens[b / step] += static_cast<double>(b == 0 ? bucket - 1 : bucket);  // the first token is not predicted
      }
    }
    for (std::size_t i = 0; i < curve.size(); ++i) curve[i] /= tokens[i];
  }
  return out;
}

}  // namespace mrrope::report

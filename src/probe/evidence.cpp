// SPDX-License-Identifier: MIT
#include "probe/evidence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mrrope/statistics.h"
#include "probe/distance.h"
#include "probe/suspects.h"

namespace mrrope::probe {

namespace {

// The server certainly lies short of that table.
bool is_out(const Way& to) { return to.statements >= kBatch && 1 - to.place > certain_t(to.statements - 1) * to.error; }

// Mean of the logarithms: a statement on which all tables agree counts as much as one that tells them apart.
double log_distance(const Tried& one, const std::vector<std::size_t>& texts) {
  double sum = 0;
  std::size_t n = 0;
  for (const std::size_t r : texts) {
    if (one.distance[r] < 0) continue;
    sum += std::log(one.distance[r] + kRounding);
    ++n;
  }
  return n > 0 ? sum / static_cast<double>(n) : INFINITY;
}

}  // namespace

double certain_t(std::size_t freedom) {
  const auto n = static_cast<double>(std::max<std::size_t>(freedom, 1));
  return 3.2905 + 9.73 / n + 26.1 / (n * n) + 53.2 / (n * n * n);
}

Evidence::Evidence(std::vector<Statement> said, std::vector<Suspect> suspects) : statements(std::move(said)) {
  for (std::size_t r = 0; r < statements.size(); ++r) {
    served.push_back(roots_of(statements[r]));
    if (statements[r].rows.empty()) continue;
    (statements[r].rows.back().at <= 1 ? singles : texts).push_back(r);
  }
  for (Suspect& one : suspects) add(std::move(one));
}

std::optional<std::size_t> Evidence::add(Suspect one) {
  const auto same = [&](const Tried& other) { return same_table(other.suspect.plan, one.plan); };
  if (std::any_of(tried.begin(), tried.end(), same)) return std::nullopt;
  tried.push_back({std::move(one), std::vector<std::vector<double>>(statements.size()),
                   std::vector<double>(statements.size(), -1), false});
  return tried.size() - 1;
}

void Evidence::tell(std::size_t suspect, std::size_t statement, std::vector<double> roots) {
  tried[suspect].distance[statement] = distance(served[statement], roots, statements[statement].rows.size());
  tried[suspect].roots[statement] = std::move(roots);
}

double Evidence::mean_distance(const Tried& one) const {
  std::vector<double> run;
  for (const std::size_t r : texts) {
    if (one.distance[r] >= 0) run.push_back(one.distance[r]);
  }
  return eval::estimate(run).mean;
}

double Evidence::first_distance(const Tried& one) const {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(kBatch, texts.size()); ++i) {
    const double far = one.distance[texts[i]];
    sum += far < 0 ? INFINITY : std::log(far + kRounding);
  }
  return sum;
}

Way Evidence::way_to(const Tried& one) const {
  std::vector<std::vector<double>> server;
  std::vector<std::vector<double>> from;
  std::vector<std::vector<double>> to;
  for (const std::size_t r : texts) {
    if (one.distance[r] < 0 || tried[best].distance[r] < 0) continue;
    server.push_back(served[r]);
    from.push_back(tried[best].roots[r]);
    to.push_back(one.roots[r]);
  }
  return way(server, from, to);
}

double Evidence::times_as_far(const Tried& one) const {
  std::vector<double> ratios;
  for (const std::size_t r : texts) {
    if (one.distance[r] < 0 || tried[best].distance[r] < 0) continue;
    ratios.push_back(std::log((one.distance[r] + kRounding) / (tried[best].distance[r] + kRounding)));
  }
  return std::exp(eval::estimate(ratios).mean);
}

void Evidence::strike_out() {
  best = 0;
  double least = INFINITY;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const double value = tried[i].out ? INFINITY : log_distance(tried[i], texts);
    if (value < least) {
      least = value;
      best = i;
    }
  }
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (i == best || tried[i].out) continue;
    const Way to = way_to(tried[i]);
    tried[i].out = is_out(to);
  }
}

}  // namespace mrrope::probe

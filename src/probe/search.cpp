// SPDX-License-Identifier: MIT
#include "probe/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "probe/suspects.h"

namespace mrrope::probe {

namespace {

// What the server may lie off a plan that it runs: quantised caches act as a slightly smaller scale.
constexpr double kScaleAllowed = 0.02;
constexpr double kSpeedAllowed = 0.05;
// Off by this much of what is allowed, a better table is looked for.
constexpr double kWorthALook = 0.25;
// Of the way to another table: cache types draw a little to tables with a smaller scale.
constexpr double kDrawnAllowed = 0.25;
// Of the noise of single tokens, which is larger than that of texts where the weights differ, and all but 0 where only
// the shapes of batches do: then a text in float16 has at most this much: 1e-4 was seen.
constexpr double kTextAdds = 3;
constexpr double kOtherKernels = 3e-4;
constexpr int kMostRounds = 5;
constexpr std::size_t kMostLines = 3;
constexpr int kMostLineRounds = 3;

}  // namespace

std::optional<Suspect> Line::at(double place) const {
  if (scale) return rescaled(from, std::exp(place));
  Method method = from.plan.method;
  method.factor.reset();
  method.attention_scale.reset();
  return probe::suspect(from.plan.spec, method, std::exp(place));
}

void Fingerprint::Impl::screen() {
  const std::size_t end = std::min(next_text + kBatch, evidence.texts.size());
  const std::vector<std::size_t> which(evidence.texts.begin() + static_cast<std::ptrdiff_t>(next_text),
                                       evidence.texts.begin() + static_cast<std::ptrdiff_t>(end));
  next_text = end;
  for (std::size_t i = 0; i < evidence.tried.size(); ++i) {
    const bool run = evidence.tried[i].distance[which.front()] >= 0;
    if (!evidence.tried[i].out && !run) jobs.push_back({Job::What::suspect, i, evidence.tried[i].suspect.plan, which});
  }
}

void Fingerprint::Impl::find_slopes() {
  std::vector<std::vector<double>> residual;
  for (const std::size_t r : evidence.texts) {
    std::vector<double> left = evidence.served[r];
    for (std::size_t i = 0; i < left.size(); ++i) left[i] -= evidence.tried[evidence.best].roots[r][i];
    residual.push_back(std::move(left));
  }
  found = slopes(residual, slope);
}

void Fingerprint::Impl::take_slopes() {
  ++rounds;
  slopes_at = evidence.best;
  found.reset();
  const Plan& plan = evidence.suspect().plan;
  std::size_t longest = 0;
  for (const Statement& statement : evidence.statements) longest = std::max(longest, statement.tokens.size());
  directions = directions_of(plan, longest);
  slope.assign(directions.count(), {});
  if (!evidence.singles.empty()) jobs.push_back({Job::What::single, evidence.best, plan, evidence.singles});
  for (std::size_t d = 0; d < directions.count(); ++d) {
    jobs.push_back({Job::What::direction, d, moved(plan, directions, d, kMove), evidence.texts});
  }
}

bool Fingerprint::Impl::off(std::size_t direction, double allowed) const {
  const double error = certain_t(evidence.texts.size() - directions.count()) * found->error[direction];
  return std::abs(found->step[direction]) > allowed + error;
}
bool Fingerprint::Impl::off(std::size_t direction) const {
  return off(direction, direction == 0 ? kScaleAllowed : kSpeedAllowed);
}
bool Fingerprint::Impl::is_off() const {
  for (std::size_t d = 0; d < directions.count(); ++d) {
    if (off(d)) return true;
  }
  return false;
}
const Tried* Fingerprint::Impl::drawn_to() const {
  for (const Tried& one : evidence.tried) {
    if (!one.out || near(one.suspect.plan, evidence.suspect().plan)) continue;
    const Way to = evidence.way_to(one);
    if (to.place > kDrawnAllowed + certain_t(to.statements - 1) * to.error) return &one;
  }
  return nullptr;
}

// Another table may explain the server better: worth some passes.
bool Fingerprint::Impl::is_improvable() const {
  for (std::size_t d = 0; d < directions.count(); ++d) {
    if (off(d, kWorthALook * (d == 0 ? kScaleAllowed : kSpeedAllowed))) return true;
  }
  return drawn_to() != nullptr || unexplained() > explained_by_noise();
}
bool Fingerprint::Impl::has_other_weights() const { return noise >= kOtherKernels; }
bool Fingerprint::Impl::is_noisy() const {
  return evidence.mean_distance(evidence.tried[evidence.best]) >= kOtherKernels;
}
double Fingerprint::Impl::explained_by_noise() const { return std::max(kTextAdds * noise, kOtherKernels); }
double Fingerprint::Impl::unexplained() const {
  double sum = 0;
  for (std::size_t k = 0; k < evidence.texts.size(); ++k) {
    sum += found->left[k] / 2 / static_cast<double>(evidence.statements[evidence.texts[k]].rows.size());
  }
  return sum / static_cast<double>(evidence.texts.size());
}

// `now`: on all texts; else it is screened like the others.
void Fingerprint::Impl::add(std::optional<Suspect> one, bool now) {
  const std::optional<std::size_t> index = one ? evidence.add(*std::move(one)) : std::nullopt;
  if (index && now) jobs.push_back({Job::What::suspect, *index, evidence.tried[*index].suspect.plan, evidence.texts});
}

// The best few laws, wherever on their factors' line they were tried: the best table of a grid need not be of the
// law that is the best between its points.
void Fingerprint::Impl::draw_factor_lines() {
  std::vector<std::size_t> order(evidence.tried.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return evidence.first_distance(evidence.tried[a]) < evidence.first_distance(evidence.tried[b]);
  });
  std::vector<std::size_t> laws;
  for (const std::size_t i : order) {
    const Plan& plan = evidence.tried[i].suspect.plan;
    const std::size_t law = plan.method.law.index();
    if (laws.size() == kMostLines || !reads_factor(plan.method.law) || !plan.method.modifiers.empty() ||
        std::find(laws.begin(), laws.end(), law) != laws.end()) {
      continue;
    }
    laws.push_back(law);
    lines.push_back(
        {evidence.tried[i].suspect, false, LineSearch(std::log(plan.factor), 0.35, 0.02, 0, std::log(64.0))});
  }
}

void Fingerprint::Impl::draw_lines() {
  ++line_rounds;
  bool speeds = false;
  for (std::size_t d = 1; d < directions.count(); ++d) speeds = speeds || off(d, 0);
  const bool scale_only = off(0, 0) && !speeds && line_rounds == 1;
  if (!scale_only && !drew_factors) {
    drew_factors = true;
    draw_factor_lines();
  } else {
    lines.push_back({evidence.suspect(), true, LineSearch(0, 0.04, 0.0025, -0.4, 0.4)});
  }
}

// Before the best one is believed, the laws that few people serve have to do worse: mrrope-mirror x2 lies near
// yarn-rotations x2. Where noise hides small differences, so do the factors around the best one's.
void Fingerprint::Impl::widen() {
  widened = true;
  for (Suspect& one : neighbours(evidence.suspect(), is_noisy())) add(std::move(one), false);
  next_text = 0;
}

// How well the factor is known: where noise hides much, the next ones may do as well.
void Fingerprint::Impl::narrow() {
  narrowed = evidence.best;
  const Suspect best = evidence.suspect();
  const double factor = table_factor(best.plan);
  aside = {};
  for (std::size_t side = 0; side < aside.size(); ++side) {
    std::optional<Suspect> other = at_factor(best, side == 0 ? factor / kAside : factor * kAside);
    if (!other || factor < kAside) continue;
    jobs.push_back({Job::What::factor, side, std::move(other->plan), evidence.texts});
  }
  if (!is_noisy()) return;
  for (Suspect& one : nearest_factors(best)) add(std::move(one), true);
}

// The bottom of the parabola through three distances. Every run has its own rounding, which a difference of two of
// them would take for a step; it adds the same to all three distances, and moves no bottom.
std::optional<Fingerprint::Impl::Factor> Fingerprint::Impl::factor() const {
  if (narrowed != evidence.best || aside[1].empty()) return std::nullopt;
  double tilt = 0;
  double bend = 0;
  const auto parts = [&](std::size_t k) {
    const double here = evidence.tried[evidence.best].distance[evidence.texts[k]];
    return std::pair(aside[0][k] - aside[1][k], 2 * (aside[0][k] + aside[1][k] - 2 * here));
  };
  for (std::size_t k = 0; k < evidence.texts.size(); ++k) {
    tilt += parts(k).first;
    bend += parts(k).second;
  }
  if (bend <= 0) return std::nullopt;
  double squares = 0;
  for (std::size_t k = 0; k < evidence.texts.size(); ++k) {
    const double left = parts(k).first - tilt / bend * parts(k).second;
    squares += left * left;
  }
  const auto n = static_cast<double>(evidence.texts.size());
  return Factor{std::log(table_factor(evidence.suspect().plan)) + tilt / bend * std::log(kAside),
                std::sqrt(squares * n / (n - 1)) / bend * std::log(kAside)};
}

// The factor as it was measured, once: a table that nobody suspected, and that is nearer than those on the grid. And
// the whole one in reach of that, which people set: a line along the factor ends beside it where the scale is off, too.
void Fingerprint::Impl::sharpen() {
  sharpened = true;
  const std::optional<Factor> measured = factor();
  if (!measured || is_noisy()) return;
  const double whole = std::round(std::exp(measured->log));
  if (whole > 1 && std::abs(std::log(whole) - measured->log) <= 2 * measured->error) {
    add(as_much_off_at(evidence.suspect(), whole), true);
  }
  const double off = measured->log - std::log(table_factor(evidence.suspect().plan));
  if (std::abs(off) <= kSameTable + certain_t(evidence.texts.size() - 1) * measured->error) return;
  add(at_factor(evidence.suspect(), std::exp(measured->log)), true);
}

// The next place on a line; at its end, what was found.
bool Fingerprint::Impl::follow_lines() {
  for (std::size_t i = next_line; i < lines.size(); ++i) {
    if (const std::optional<double> place = lines[i].search.ask()) {
      if (std::optional<Suspect> one = lines[i].at(*place)) {
        jobs.push_back({Job::What::line, i, std::move(one->plan), some_texts()});
        return true;
      }
    }
    const double found_at = lines[i].search.at();
    // 4 rather than 3.98, 5 % rather than 4.9: what people set, too
    if (lines[i].scale) add(lines[i].at(std::log(std::round(std::exp(found_at) * 100) / 100)), true);
    else add(lines[i].at(std::log(as_people_set(std::exp(found_at)))), true);
    add(lines[i].at(found_at), true);
    next_line = i + 1;
  }
  return !jobs.empty();
}

std::vector<std::size_t> Fingerprint::Impl::some_texts() const {
  std::vector<std::size_t> out;
  // Of every text in turn, each at another length
  const std::size_t of = std::max<std::size_t>(1, evidence.texts.size() / kBatch);
  for (std::size_t k = 0; k < std::min(kBatch, evidence.texts.size()); ++k)
    out.push_back(evidence.texts[k % of * kBatch + k]);
  std::sort(out.begin(), out.end());
  return out;
}

void Fingerprint::Impl::go_on() {
  while (jobs.empty()) {
    if (next_text > 0) evidence.strike_out();
    if (next_text < evidence.texts.size()) {
      screen();
      continue;
    }
    if (evidence.texts.size() <= kBatch) return;
    if (!slopes_at || *slopes_at != evidence.best) {
      if (rounds == kMostRounds) return;
      take_slopes();
      continue;
    }
    if (!found) find_slopes();
    if (follow_lines()) continue;
    if (line_rounds == kMostLineRounds || !is_improvable()) {
      if (!widened) widen();
      else if (narrowed != evidence.best) narrow();
      else if (!sharpened) sharpen();
      else return;
      continue;
    }
    draw_lines();
    follow_lines();
  }
}

}  // namespace mrrope::probe

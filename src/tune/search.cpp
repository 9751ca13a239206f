// SPDX-License-Identifier: MIT
//
// Fixed methods, a step along each axis, then the lowest points of a surrogate: next() decides what is asked.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/tune.h"
#include "tune/surrogate.h"

namespace mrrope::tune {

namespace {

// Lengths in units of the cube: 0.15 is about 1 of p and 5 of 32 pairs, 0.03 little more than at() rounds.
constexpr double kStep = 0.15;
constexpr double kFirstRadius = 0.2;
constexpr double kLeastRadius = 0.03;
constexpr double kMostRadius = 0.4;
constexpr double kGrow = 1.5;
constexpr double kShrink = 0.7;
constexpr int kFailures = 2;     // in a row, before the radius shrinks
constexpr double kApart = 0.02;  // from every measured point, or a quarter of the radius: nearer teaches nothing
// A step in all axes at once is rarely the best; Regis and Shoemaker (2013) change some of them.
constexpr double kChanged = 0.7;
constexpr int kDraws = 500;     // of the box around the best …
constexpr int kPolishes = 150;  // … and around the lowest of them, twice
// A point that ruins the model is as bad as four times the median one: the surface should not bend for it.
constexpr double kCap = 4;

}  // namespace

double preferred(const Loss& loss, Prefer prefer) {
  const double within = prefer == Prefer::long_texts ? 0.1 : prefer == Prefer::balanced ? 0.5 : 0.9;
  return (1 - within) * loss.beyond + within * loss.within;
}

const char* to_string(Prefer prefer) noexcept {
  return prefer == Prefer::long_texts ? "long" : prefer == Prefer::balanced ? "balanced" : "short";
}

Loss Candidate::mean() const {
  assert(!losses.empty());
  Loss sum;
  for (const Loss& loss : losses) {
    sum.beyond += loss.beyond;
    sum.within += loss.within;
  }
  const auto n = static_cast<double>(losses.size());
  return {sum.beyond / n, sum.within / n};
}

std::string Candidate::name() const { return spell(method); }

struct Search::State {
  Space space;
  SearchOptions options;
  std::vector<Candidate> candidates = {};  // all are measured, but for the last ones
  std::size_t measured = 0;
  std::optional<Method> ask = {};
  std::uint64_t random = 0;
  double radius = kFirstRadius;
  int failures = 0;
  bool guided = false;  // by the surrogate

  [[nodiscard]] double score(std::size_t i) const { return preferred(candidates[i].mean(), options.prefer); }
  // Of the first `count` candidates, or of those in the cube.
  [[nodiscard]] std::size_t best(std::size_t count, bool in_cube = false) const;
  double uniform();

  // Adds the method of a point unless it was tried before; returns whether it did.
  bool add(std::span<const double> point);
  void next();
  void add_steps();
  bool add_lowest();
  // The lowest of so many points around one; empty: all of them are too near to what was measured.
  std::vector<double> lowest(const Surrogate& surrogate, std::span<const double> around, double reach, int draws);
  [[nodiscard]] bool is_new(std::span<const double> point) const;
  [[nodiscard]] Surrogate surrogate() const;
};

Search::Search(Space space, SearchOptions options)
    : state_(std::make_unique<State>(State{.space = std::move(space), .options = options})) {
  State& s = *state_;
  assert(options.items > 0 && options.tokens > 0);
  s.random = options.seed;
  for (const Method& method : s.space.fixed()) {
    s.candidates.push_back({method, s.space.point_of(method).value_or(std::vector<double>{}), {}, true});
  }
  s.next();
}

Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;
Search::~Search() = default;

const std::optional<Method>& Search::ask() const { return state_->ask; }
std::span<const Candidate> Search::candidates() const { return state_->candidates; }
std::int64_t Search::tokens() const { return static_cast<std::int64_t>(state_->measured) * state_->options.tokens; }
const Candidate& Search::best() const { return state_->candidates[state_->best(state_->measured)]; }
const Candidate& Search::best_fixed() const {
  return state_->candidates[state_->best(std::min(state_->measured, state_->space.fixed().size()))];
}

void Search::tell(std::vector<Loss> losses) {
  State& s = *state_;
  assert(s.ask && losses.size() == s.options.items);
  const double before = s.guided ? s.score(s.best(s.measured, true)) : 0;
  s.candidates[s.measured++].losses = std::move(losses);
  if (s.guided) {
    if (s.score(s.measured - 1) < before) {
      s.radius = std::min(kMostRadius, s.radius * kGrow);
      s.failures = 0;
    } else if (++s.failures == kFailures) {
      s.radius = std::max(kLeastRadius, s.radius * kShrink);
      s.failures = 0;
    }
  }
  s.next();
}

std::size_t Search::State::best(std::size_t count, bool in_cube) const {
  assert(count > 0);
  std::size_t best = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (in_cube && candidates[i].point.empty()) continue;
    if (best == count || score(i) < score(best)) best = i;
  }
  return best;
}

// splitmix64: the standard library's distributions differ from one to the next.
double Search::State::uniform() {
  std::uint64_t z = (random += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

bool Search::State::add(std::span<const double> point) {
  Method method = space.at(point);
  for (const Candidate& c : candidates) {
    if (c.method == method) return false;
  }
  std::vector<double> rounded = *space.point_of(method);
  candidates.push_back({std::move(method), std::move(rounded), {}, false});
  return true;
}

void Search::State::next() {
  ask.reset();
  const std::size_t fixed = space.fixed().size();
  // A budget is a promise; the fixed methods are what the result is compared with
  const auto after = static_cast<std::int64_t>(measured + 1) * options.tokens;
  if (measured >= fixed && after > options.token_budget) return;
  if (measured == fixed && candidates.size() == fixed) add_steps();
  if (measured == candidates.size()) {
    guided = true;
    if (!add_lowest()) return;  // the space is used up
  }
  ask = candidates[measured].method;
}

// Towards the middle of the cube, where there is more of it; not along an axis that a fixed method lies on.
void Search::State::add_steps() {
  const std::vector<double> center = candidates[best(measured, true)].point;
  for (std::size_t axis = 0; axis < center.size(); ++axis) {
    const bool known = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      if (c.point.empty() || c.point[axis] == center[axis]) return false;
      for (std::size_t d = 0; d < center.size(); ++d) {
        if (d != axis && c.point[d] != center[d]) return false;
      }
      return true;
    });
    if (known) continue;
    std::vector<double> point = center;
    point[axis] += point[axis] < 0.5 ? kStep : -kStep;
    add(point);
  }
}

bool Search::State::add_lowest() {
  const Surrogate model = surrogate();
  const std::vector<double> center = candidates[best(measured, true)].point;
  double reach = radius;
  while (true) {
    std::vector<double> point = lowest(model, center, reach, kDraws);
    for (const double closer : {0.3, 0.1}) {
      if (point.empty()) break;
      const std::vector<double> polished = lowest(model, point, closer * reach, kPolishes);
      if (!polished.empty() && model.at(polished) < model.at(point)) point = polished;
    }
    if (!point.empty() && add(point)) return true;
    if (reach == kMostRadius) return false;
    reach = std::min(kMostRadius, reach * kGrow);
  }
}

std::vector<double> Search::State::lowest(const Surrogate& surrogate, std::span<const double> around, double reach,
                                          int draws) {
  std::vector<double> best;
  double least = 0;
  std::vector<double> point(around.size());
  for (int draw = 0; draw < draws; ++draw) {
    for (std::size_t d = 0; d < point.size(); ++d) {
      const double by = reach * (2 * uniform() - 1);
      const bool changed = uniform() < kChanged;
      point[d] = std::clamp(changed ? around[d] + by : around[d], 0.0, 1.0);
    }
    point = *space.point_of(space.at(point));  // as it would be measured
    if (!is_new(point)) continue;
    const double value = surrogate.at(point);
    if (best.empty() || value < least) {
      best = point;
      least = value;
    }
  }
  return best;
}

bool Search::State::is_new(std::span<const double> point) const {
  const double apart = std::min(kApart, radius / 4);
  return std::none_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
    if (c.point.empty()) return false;
    double squares = 0;
    for (std::size_t d = 0; d < point.size(); ++d) squares += (c.point[d] - point[d]) * (c.point[d] - point[d]);
    return squares < apart * apart;
  });
}

Surrogate Search::State::surrogate() const {
  std::vector<std::vector<double>> points;
  std::vector<double> values;
  for (std::size_t i = 0; i < measured; ++i) {
    if (candidates[i].point.empty()) continue;
    points.push_back(candidates[i].point);
    values.push_back(score(i));
  }
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const double cap = sorted.front() + kCap * (sorted[sorted.size() / 2] - sorted.front());
  for (double& value : values) value = std::min(value, cap);
  return {std::move(points), values};
}

}  // namespace mrrope::tune

// SPDX-License-Identifier: MIT
//
// Fixed methods, a race, steps around the best: next() decides what is asked, tell() what it means.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/tune.h"

namespace mrrope::tune {

namespace {

constexpr std::size_t kFirstItems = 2;  // of a race; fewer have no spread
constexpr std::size_t kMostRacers = 64;
constexpr double kBehind = 1;  // standard errors; of two equals, one seems that far behind in 16 of 100 stages
// Of steps, in units of the cube: 0.15 is about 1 of p and 5 of 32 pairs, 0.01 about as fine as at() rounds
constexpr double kFirstRadius = 0.15;
constexpr double kLeastRadius = 0.01;
constexpr double kMostRadius = 0.3;
constexpr double kGrow = 1.5;
constexpr int kDraws = 50;  // of a step, until one gives a method that is new

}  // namespace

double preferred(const Loss& loss, Prefer prefer) {
  const double within = prefer == Prefer::long_texts ? 0.1 : prefer == Prefer::balanced ? 0.5 : 0.9;
  return (1 - within) * loss.beyond + within * loss.within;
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

Search::Search(Space space, SearchOptions options)
    : space_(std::move(space)), options_(std::move(options)), state_(options_.seed) {
  const std::size_t items = options_.item_tokens.size();
  assert(items >= 2);
  for (std::size_t n = kFirstItems; n < items; n *= 2) stages_.push_back(n);
  stages_.push_back(items);
  for (const Method& method : space_.fixed()) candidates_.push_back({method, {}, {}, true});
  next();
}

void Search::tell(std::span<const Loss> losses) {
  assert(ask_ && losses.size() == ask_->to - ask_->from);
  Candidate& c = candidates_[ask_->candidate];
  c.losses.insert(c.losses.end(), losses.begin(), losses.end());
  tokens_ += cost(ask_->from, ask_->to);
  if (phase_ == Phase::refine) judge_step();
  ask_.reset();
  next();
}

const Candidate& Search::best() const {
  const Candidate* best = nullptr;
  const std::size_t items = options_.item_tokens.size();
  for (const Candidate& c : candidates_) {
    if (complete(c) && (best == nullptr || score(c, items) < score(*best, items))) best = &c;
  }
  assert(best != nullptr);
  return *best;
}

const Candidate& Search::best_fixed() const {
  const Candidate* best = nullptr;
  const std::size_t items = options_.item_tokens.size();
  for (const Candidate& c : candidates_) {
    if (c.fixed && complete(c) && (best == nullptr || score(c, items) < score(*best, items))) best = &c;
  }
  assert(best != nullptr);
  return *best;
}

// ---- Numbers -------------------------------------------------------------------------------------------------------

std::int64_t Search::cost(std::size_t from, std::size_t to) const {
  const auto begin = options_.item_tokens.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to),
                         std::int64_t{0});
}

double Search::score(const Candidate& c, std::size_t items) const {
  double sum = 0;
  for (std::size_t i = 0; i < items; ++i) sum += preferred(c.losses[i], options_.prefer);
  return sum / static_cast<double>(items);
}

double Search::behind(const Candidate& a, const Candidate& b) const {
  const std::size_t items = std::min(a.losses.size(), b.losses.size());
  std::vector<double> d;
  for (std::size_t i = 0; i < items; ++i) {
    d.push_back(preferred(a.losses[i], options_.prefer) - preferred(b.losses[i], options_.prefer));
  }
  const auto n = static_cast<double>(items);
  const double mean = std::accumulate(d.begin(), d.end(), 0.0) / n;
  double squares = 0;
  for (const double x : d) squares += (x - mean) * (x - mean);
  const double error = items < 2 ? 0 : std::sqrt(squares / (n - 1) / n);
  if (error == 0) return mean == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), mean);
  return mean / error;
}

// splitmix64, and normal enough: the standard library's distributions differ from one to the next.
double Search::uniform() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double Search::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

// ---- What comes next -----------------------------------------------------------------------------------------------

void Search::want(std::size_t candidate, std::size_t to) {
  const Candidate& c = candidates_[candidate];
  ask_ = Ask{candidate, c.method, c.losses.size(), to};
}

bool Search::add(std::vector<double> point) {
  Method method = space_.at(point);
  for (const Candidate& c : candidates_) {
    if (c.method == method) return false;
  }
  candidates_.push_back({std::move(method), std::move(point), {}, false});
  return true;
}

void Search::next() {
  if (phase_ == Phase::fixed) next_fixed();
  if (!ask_ && phase_ == Phase::race) next_race();
  if (!ask_ && phase_ == Phase::refine) next_step();
  // A budget is a promise; the fixed methods are what the result is compared with
  if (ask_ && phase_ != Phase::fixed && tokens_ + cost(ask_->from, ask_->to) > options_.token_budget) {
    ask_.reset();
    phase_ = Phase::over;
  }
}

void Search::next_fixed() {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!complete(candidates_[i])) return want(i, options_.item_tokens.size());
  }
  start_race();
}

// ---- Race ----------------------------------------------------------------------------------------------------------

// As many points as half of what is left pays for, if every stage takes half of them on.
void Search::start_race() {
  phase_ = Phase::race;
  race_budget_ = tokens_ + (options_.token_budget - tokens_) / 2;
  const auto nominal = [&](std::size_t racers) {
    std::int64_t sum = 0;
    std::size_t from = 0;
    for (const std::size_t to : stages_) {
      sum += static_cast<std::int64_t>(racers) * cost(from, to);
      from = to;
      racers = (racers + 1) / 2;
    }
    return sum;
  };
  std::size_t racers = kMostRacers;
  while (racers > 1 && tokens_ + nominal(racers) > race_budget_) racers /= 2;

  // The start, then an additive recurrence with the roots of x^(d+1) = x + 1 (Roberts 2018), which fills a cube evenly
  // whatever the number of points is; the seed shifts it.
  const std::size_t dims = space_.axes().size();
  double root = 2;
  for (int i = 0; i < 60; ++i) root = std::pow(1 + root, 1 / static_cast<double>(dims + 1));
  std::vector<double> shift;
  for (std::size_t d = 0; d < dims; ++d) shift.push_back(uniform());
  add({space_.start().begin(), space_.start().end()});
  for (std::size_t k = 1; k < racers; ++k) {
    std::vector<double> point;
    for (std::size_t d = 0; d < dims; ++d) {
      const double x = shift[d] + static_cast<double>(k) * std::pow(root, -static_cast<double>(d + 1));
      point.push_back(x - std::floor(x));
    }
    add(std::move(point));
  }
  for (std::size_t i = space_.fixed().size(); i < candidates_.size(); ++i) racing_.push_back(i);
}

void Search::next_race() {
  while (true) {
    for (const std::size_t i : racing_) {
      if (candidates_[i].losses.size() < stages_[stage_]) return want(i, stages_[stage_]);
    }
    if (stage_ + 1 == stages_.size()) break;
    cut_race();
    ++stage_;
  }
  const std::size_t items = options_.item_tokens.size();
  center_ = *std::min_element(racing_.begin(), racing_.end(), [&](std::size_t a, std::size_t b) {
    return score(candidates_[a], items) < score(candidates_[b], items);
  });
  radius_ = kFirstRadius;
  phase_ = Phase::refine;
}

// The better half goes on, and of the others who is not behind the first, while tokens last.
void Search::cut_race() {
  const std::size_t items = stages_[stage_];
  std::stable_sort(racing_.begin(), racing_.end(), [&](std::size_t a, std::size_t b) {
    return score(candidates_[a], items) < score(candidates_[b], items);
  });
  const std::size_t half = (racing_.size() + 1) / 2;
  const std::size_t leader = racing_.front();
  const std::int64_t each = cost(items, stages_[stage_ + 1]);
  std::int64_t spent = tokens_ + static_cast<std::int64_t>(half) * each;
  std::vector<std::size_t> on(racing_.begin(), racing_.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t k = half; k < racing_.size(); ++k) {
    if (spent + each > race_budget_ || behind(candidates_[racing_[k]], candidates_[leader]) > kBehind) continue;
    on.push_back(racing_[k]);
    spent += each;
  }
  racing_ = std::move(on);
}

// ---- Steps around the best -----------------------------------------------------------------------------------------

void Search::next_step() {
  if (!step_ && !propose()) return;
  want(*step_, *std::upper_bound(stages_.begin(), stages_.end(), candidates_[*step_].losses.size()));
}

// Some axes at a time: the best change of all five at once is rarely drawn.
bool Search::propose() {
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> point = candidates_[center_].point;
    for (double& x : point) {
      const double step = radius_ * normal();
      if (uniform() < 0.5) x = std::clamp(x + step, 0.0, 1.0);
    }
    if (add(std::move(point))) {
      step_ = candidates_.size() - 1;
      return true;
    }
    // What is near was tried
    if (draw % 10 == 9) radius_ = std::min(kMostRadius, radius_ * kGrow);
  }
  return false;
}

// A success widens the steps, four failures narrow them as much (the rule of one in five, Rechenberg 1973).
void Search::judge_step() {
  const Candidate& c = candidates_[*step_];
  const double by = behind(c, candidates_[center_]);
  if (!complete(c) && by <= kBehind) return;
  if (complete(c) && by < 0) {
    center_ = *step_;
    radius_ = std::min(kMostRadius, radius_ * kGrow);
  } else {
    radius_ = std::max(kLeastRadius, radius_ * std::pow(kGrow, -0.25));
  }
  step_.reset();
}

}  // namespace mrrope::tune

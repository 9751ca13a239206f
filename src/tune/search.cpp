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

struct Search::State {
  Space space;
  SearchOptions options;
  std::vector<std::size_t> stages = {};  // items: the first few, twice as many, …, all
  std::vector<Candidate> candidates = {};
  std::optional<Ask> ask = {};
  std::int64_t tokens = 0;
  std::uint64_t random = 0;

  enum class Phase { fixed, race, refine, over } phase = Phase::fixed;
  std::vector<std::size_t> racing = {};  // candidates
  std::size_t stage = 0;
  std::int64_t race_budget = 0;          // tokens up to which the lower half may stay
  std::size_t center = 0;                // of the steps
  double radius = kFirstRadius;          // of them
  std::optional<std::size_t> step = {};  // that is being measured

  [[nodiscard]] std::size_t items() const { return options.item_tokens.size(); }
  [[nodiscard]] bool complete(const Candidate& c) const { return c.losses.size() == items(); }
  [[nodiscard]] std::int64_t cost(std::size_t from, std::size_t to) const;
  [[nodiscard]] double score(const Candidate& c, std::size_t first_items) const;
  // How far a is behind b on their common items, in standard errors of the paired difference.
  [[nodiscard]] double behind(const Candidate& a, const Candidate& b) const;
  [[nodiscard]] const Candidate& best(bool fixed_only) const;
  double uniform();
  double normal();

  // Adds the method of a point unless it was tried before; returns whether it did.
  bool add(std::vector<double> point);
  void want(std::size_t candidate, std::size_t to);
  void next();
  void next_fixed();
  void start_race();
  void next_race();
  void cut_race();
  void next_step();
  bool propose();
  void judge_step();
};

Search::Search(Space space, SearchOptions options)
    : state_(std::make_unique<State>(State{.space = std::move(space), .options = std::move(options)})) {
  State& s = *state_;
  assert(s.items() >= 2);
  s.random = s.options.seed;
  for (std::size_t n = kFirstItems; n < s.items(); n *= 2) s.stages.push_back(n);
  s.stages.push_back(s.items());
  for (const Method& method : s.space.fixed()) s.candidates.push_back({method, {}, {}, true});
  s.next();
}

Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;
Search::~Search() = default;

const std::optional<Ask>& Search::ask() const { return state_->ask; }
std::span<const Candidate> Search::candidates() const { return state_->candidates; }
std::int64_t Search::tokens() const { return state_->tokens; }
const Candidate& Search::best() const { return state_->best(false); }
const Candidate& Search::best_fixed() const { return state_->best(true); }

void Search::tell(std::span<const Loss> losses) {
  State& s = *state_;
  assert(s.ask && losses.size() == s.ask->to - s.ask->from);
  Candidate& c = s.candidates[s.ask->candidate];
  c.losses.insert(c.losses.end(), losses.begin(), losses.end());
  s.tokens += s.cost(s.ask->from, s.ask->to);
  s.ask.reset();
  if (s.phase == State::Phase::refine) s.judge_step();
  s.next();
}

const Candidate& Search::State::best(bool fixed_only) const {
  const Candidate* best = nullptr;
  for (const Candidate& c : candidates) {
    if (!complete(c) || (fixed_only && !c.fixed)) continue;
    if (best == nullptr || score(c, items()) < score(*best, items())) best = &c;
  }
  assert(best != nullptr);
  return *best;
}

// ---- Numbers -------------------------------------------------------------------------------------------------------

std::int64_t Search::State::cost(std::size_t from, std::size_t to) const {
  const auto begin = options.item_tokens.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to),
                         std::int64_t{0});
}

double Search::State::score(const Candidate& c, std::size_t first_items) const {
  double sum = 0;
  for (std::size_t i = 0; i < first_items; ++i) sum += preferred(c.losses[i], options.prefer);
  return sum / static_cast<double>(first_items);
}

double Search::State::behind(const Candidate& a, const Candidate& b) const {
  const std::size_t common = std::min(a.losses.size(), b.losses.size());
  std::vector<double> d;
  for (std::size_t i = 0; i < common; ++i) {
    d.push_back(preferred(a.losses[i], options.prefer) - preferred(b.losses[i], options.prefer));
  }
  const auto n = static_cast<double>(common);
  const double mean = std::accumulate(d.begin(), d.end(), 0.0) / n;
  double squares = 0;
  for (const double x : d) squares += (x - mean) * (x - mean);
  const double error = common < 2 ? 0 : std::sqrt(squares / (n - 1) / n);
  if (error == 0) return mean == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), mean);
  return mean / error;
}

// splitmix64, and normal enough: the standard library's distributions differ from one to the next.
double Search::State::uniform() {
  std::uint64_t z = (random += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double Search::State::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

// ---- What comes next -----------------------------------------------------------------------------------------------

void Search::State::want(std::size_t candidate, std::size_t to) {
  const Candidate& c = candidates[candidate];
  ask = Ask{candidate, c.method, c.losses.size(), to};
}

bool Search::State::add(std::vector<double> point) {
  Method method = space.at(point);
  for (const Candidate& c : candidates) {
    if (c.method == method) return false;
  }
  candidates.push_back({std::move(method), std::move(point), {}, false});
  return true;
}

void Search::State::next() {
  if (phase == Phase::fixed) next_fixed();
  if (!ask && phase == Phase::race) next_race();
  if (!ask && phase == Phase::refine) next_step();
  // A budget is a promise; the fixed methods are what the result is compared with
  if (ask && phase != Phase::fixed && tokens + cost(ask->from, ask->to) > options.token_budget) {
    ask.reset();
    phase = Phase::over;
  }
}

void Search::State::next_fixed() {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!complete(candidates[i])) return want(i, items());
  }
  start_race();
}

// ---- Race ----------------------------------------------------------------------------------------------------------

// As many points as half of what is left pays for, if every stage takes half of them on.
void Search::State::start_race() {
  phase = Phase::race;
  race_budget = tokens + (options.token_budget - tokens) / 2;
  const auto nominal = [&](std::size_t racers) {
    std::int64_t sum = 0;
    std::size_t from = 0;
    for (const std::size_t to : stages) {
      sum += static_cast<std::int64_t>(racers) * cost(from, to);
      from = to;
      racers = (racers + 1) / 2;
    }
    return sum;
  };
  std::size_t racers = kMostRacers;
  while (racers > 1 && tokens + nominal(racers) > race_budget) racers /= 2;

  // The start, then an additive recurrence with the roots of x^(d+1) = x + 1 (Roberts 2018), which fills a cube evenly
  // whatever the number of points is; the seed shifts it.
  const std::size_t dims = space.axes().size();
  double root = 2;
  for (int i = 0; i < 60; ++i) root = std::pow(1 + root, 1 / static_cast<double>(dims + 1));
  std::vector<double> shift;
  for (std::size_t d = 0; d < dims; ++d) shift.push_back(uniform());
  add({space.start().begin(), space.start().end()});
  for (std::size_t k = 1; k < racers; ++k) {
    std::vector<double> point;
    for (std::size_t d = 0; d < dims; ++d) {
      const double x = shift[d] + static_cast<double>(k) * std::pow(root, -static_cast<double>(d + 1));
      point.push_back(x - std::floor(x));
    }
    add(std::move(point));
  }
  for (std::size_t i = space.fixed().size(); i < candidates.size(); ++i) racing.push_back(i);
}

void Search::State::next_race() {
  while (true) {
    for (const std::size_t i : racing) {
      if (candidates[i].losses.size() < stages[stage]) return want(i, stages[stage]);
    }
    if (stage + 1 == stages.size()) break;
    cut_race();
    ++stage;
  }
  center = *std::min_element(racing.begin(), racing.end(), [&](std::size_t a, std::size_t b) {
    return score(candidates[a], items()) < score(candidates[b], items());
  });
  phase = Phase::refine;
}

// The better half goes on, and of the others who is not behind the first, while tokens last.
void Search::State::cut_race() {
  const std::size_t measured = stages[stage];
  std::stable_sort(racing.begin(), racing.end(), [&](std::size_t a, std::size_t b) {
    return score(candidates[a], measured) < score(candidates[b], measured);
  });
  const std::size_t half = (racing.size() + 1) / 2;
  const std::size_t leader = racing.front();
  const std::int64_t each = cost(measured, stages[stage + 1]);
  std::int64_t spent = tokens + static_cast<std::int64_t>(half) * each;
  std::vector<std::size_t> on(racing.begin(), racing.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t k = half; k < racing.size(); ++k) {
    if (spent + each > race_budget || behind(candidates[racing[k]], candidates[leader]) > kBehind) continue;
    on.push_back(racing[k]);
    spent += each;
  }
  racing = std::move(on);
}

// ---- Steps around the best -----------------------------------------------------------------------------------------

void Search::State::next_step() {
  if (!step && !propose()) return;
  want(*step, *std::upper_bound(stages.begin(), stages.end(), candidates[*step].losses.size()));
}

// Some axes at a time: the best change of all five at once is rarely drawn.
bool Search::State::propose() {
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> point = candidates[center].point;
    for (double& x : point) {
      const double by = radius * normal();
      if (uniform() < 0.5) x = std::clamp(x + by, 0.0, 1.0);
    }
    if (add(std::move(point))) {
      step = candidates.size() - 1;
      return true;
    }
    // What is near was tried
    if (draw % 10 == 9) radius = std::min(kMostRadius, radius * kGrow);
  }
  return false;
}

// A success widens the steps, four failures narrow them as much (the rule of one in five, Rechenberg 1973).
void Search::State::judge_step() {
  const Candidate& c = candidates[*step];
  const double by = behind(c, candidates[center]);
  if (!complete(c) && by <= kBehind) return;
  if (complete(c) && by < 0) {
    center = *step;
    radius = std::min(kMostRadius, radius * kGrow);
  } else {
    radius = std::max(kLeastRadius, radius * std::pow(kGrow, -0.25));
  }
  step.reset();
}

}  // namespace mrrope::tune

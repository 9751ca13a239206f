// SPDX-License-Identifier: MIT
//
// Three phases. Screening: every suspect on the statements, a text at a time, until it is out. Slopes: the best one is
// moved a little in each direction. Guesses: where the slopes point elsewhere, tables of published methods there are
// run, too, and the slopes taken again at the new best one. Then the verdict.
#include "mrrope/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "mrrope/statistics.h"
#include "probe/distance.h"
#include "probe/slopes.h"
#include "probe/suspects.h"

namespace mrrope::probe {

namespace {

// Of statements that are run together before suspects are struck out; also the fewest that may strike one out.
constexpr std::size_t kBatch = 8;
// Two computations of one table in float16 differ by less.
constexpr double kRounding = 1e-7;
// A plan that is moved by this is still in reach of a straight line, and far above float32's noise.
constexpr double kMove = 0.01;
// What the server may lie off a plan that it runs: quantised caches act as a slightly smaller scale (docs/probe.md).
constexpr double kScaleAllowed = 0.02;
constexpr double kSpeedAllowed = 0.05;
constexpr int kMostRounds = 3;
// Beyond these the weights are others: tokens that no table reaches disagree, or everything does.
constexpr double kOtherWeights = 0.05;
constexpr double kFarFromAll = 0.1;
// Of the noise of single tokens: what a text adds to it (docs/probe.md).
constexpr double kTextAdds = 30;

// Student's t, one-sided p = 0.0005, by the Cornish-Fisher series: within 1 % from 6 degrees on.
double certain_t(std::size_t freedom) {
  const auto n = static_cast<double>(std::max<std::size_t>(freedom, 1));
  return 3.2905 + 9.73 / n + 26.1 / (n * n) + 53.2 / (n * n * n);
}

struct Tried {
  Suspect suspect;
  std::vector<std::vector<double>> roots;  // per statement; empty: not run
  std::vector<double> distance;            // per statement; negative: not run
  bool out = false;
};

struct Job {
  enum class What { suspect, single, direction } what;
  std::size_t index;  // of the suspect or direction
  Plan plan;
  std::vector<std::size_t> which;
};

}  // namespace

struct Fingerprint::Impl {
  RopeSpec spec;
  std::vector<Statement> statements;
  std::vector<std::vector<double>> served;  // roots
  std::vector<std::size_t> singles, texts;  // statements of one token, and the others
  std::vector<Tried> tried;
  std::deque<Job> jobs;
  std::size_t next_text = 0;
  int rounds = 0;

  std::size_t best = 0;
  Directions directions;
  std::vector<std::vector<std::vector<double>>> slope;
  std::optional<Slopes> found;
  bool guessed = false;
  double noise = 0;

  std::vector<double> distances(const Tried& one, const std::vector<std::size_t>& which) const {
    std::vector<double> out;
    for (const std::size_t r : which) out.push_back(one.distance[r]);
    return out;
  }

  // Mean of the logarithms: a statement on which all tables agree counts as much as one that tells them apart.
  double log_distance(const Tried& one) const {
    double sum = 0;
    std::size_t n = 0;
    for (const std::size_t r : texts) {
      if (one.distance[r] < 0) continue;
      sum += std::log(one.distance[r] + kRounding);
      ++n;
    }
    return n > 0 ? sum / static_cast<double>(n) : INFINITY;
  }

  eval::Estimate against_best(const Tried& one) const {
    std::vector<double> ratios;
    for (const std::size_t r : texts) {
      if (one.distance[r] < 0 || tried[best].distance[r] < 0) continue;
      ratios.push_back(std::log((one.distance[r] + kRounding) / (tried[best].distance[r] + kRounding)));
    }
    return eval::estimate(ratios);
  }

  void strike_out() {
    best = 0;
    double least = INFINITY;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const double value = tried[i].out ? INFINITY : log_distance(tried[i]);
      if (value < least) {
        least = value;
        best = i;
      }
    }
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (i == best || tried[i].out) continue;
      const eval::Estimate e = against_best(tried[i]);
      tried[i].out = e.n >= kBatch && e.mean > certain_t(e.n - 1) * e.stderr_mean;
    }
  }

  void screen() {
    const std::size_t end = std::min(next_text + kBatch, texts.size());
    const std::vector<std::size_t> which(texts.begin() + static_cast<std::ptrdiff_t>(next_text),
                                         texts.begin() + static_cast<std::ptrdiff_t>(end));
    next_text = end;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (!tried[i].out) jobs.push_back({Job::What::suspect, i, tried[i].suspect.plan, which});
    }
  }

  void take_slopes() {
    ++rounds;
    guessed = false;
    found.reset();
    const Plan& plan = tried[best].suspect.plan;
    std::size_t longest = 0;
    for (const Statement& statement : statements) longest = std::max(longest, statement.tokens.size());
    directions = directions_of(plan, longest);
    slope.assign(directions.count(), {});
    if (!singles.empty()) jobs.push_back({Job::What::single, best, plan, singles});
    for (std::size_t d = 0; d < directions.count(); ++d) {
      jobs.push_back({Job::What::direction, d, moved(plan, directions, d, kMove), texts});
    }
  }

  bool off(std::size_t direction) const {
    const double allowed = direction == 0 ? kScaleAllowed : kSpeedAllowed;
    const double error = certain_t(texts.size() - directions.count()) * found->error[direction];
    return std::abs(found->step[direction]) > allowed + error;
  }
  bool is_off() const {
    for (std::size_t d = 0; found && d < directions.count(); ++d) {
      if (off(d)) return true;
    }
    return false;
  }

  void guess() {
    guessed = true;
    for (Suspect& one : guesses(tried[best].suspect, directions, *found)) {
      const auto same = [&](const Tried& other) { return same_table(other.suspect.plan, one.plan); };
      if (std::any_of(tried.begin(), tried.end(), same)) continue;
      tried.push_back({std::move(one), std::vector<std::vector<double>>(statements.size()),
                       std::vector<double>(statements.size(), -1), false});
      jobs.push_back({Job::What::suspect, tried.size() - 1, tried.back().suspect.plan, texts});
    }
  }

  // What comes next when everything that was asked is answered.
  void go_on() {
    while (jobs.empty()) {
      if (next_text > 0) strike_out();
      if (next_text < texts.size()) {
        screen();
        continue;
      }
      if (texts.size() <= kBatch) return;
      if (rounds == 0) {
        take_slopes();
        continue;
      }
      if (!found) {
        std::vector<std::vector<double>> residual;
        for (const std::size_t r : texts) {
          std::vector<double> left = served[r];
          for (std::size_t i = 0; i < left.size(); ++i) left[i] -= tried[best].roots[r][i];
          residual.push_back(std::move(left));
        }
        found = slopes(residual, slope);
        slopes_of = best;
      }
      if (guessed && best != slopes_of && rounds < kMostRounds) {
        take_slopes();
        continue;
      }
      if (guessed || !is_off()) return;
      guess();
      if (jobs.empty()) return;
    }
  }
  std::size_t slopes_of = 0;
};

Fingerprint::Fingerprint(RopeSpec spec, std::vector<Suspect> suspects, std::vector<Statement> statements)
    : impl_(std::make_unique<Impl>()) {
  assert(!suspects.empty());
  impl_->spec = std::move(spec);
  impl_->statements = std::move(statements);
  const std::size_t n = impl_->statements.size();
  for (std::size_t r = 0; r < n; ++r) {
    impl_->served.push_back(roots_of(impl_->statements[r]));
    if (impl_->statements[r].rows.empty()) continue;
    (impl_->statements[r].rows.back().at <= 1 ? impl_->singles : impl_->texts).push_back(r);
  }
  for (Suspect& one : suspects) {
    impl_->tried.push_back({std::move(one), std::vector<std::vector<double>>(n), std::vector<double>(n, -1), false});
  }
  if (!impl_->texts.empty()) impl_->go_on();
}

Fingerprint::Fingerprint(Fingerprint&&) noexcept = default;
Fingerprint& Fingerprint::operator=(Fingerprint&&) noexcept = default;
Fingerprint::~Fingerprint() = default;

std::optional<Fingerprint::Question> Fingerprint::ask() const {
  if (impl_->jobs.empty()) return std::nullopt;
  return Question{&impl_->jobs.front().plan, impl_->jobs.front().which};
}

void Fingerprint::tell(const Echo& echo) {
  assert(!impl_->jobs.empty() && echo.size() == impl_->jobs.front().which.size());
  const Job job = std::move(impl_->jobs.front());
  impl_->jobs.pop_front();
  double sum = 0;
  std::vector<std::vector<double>> slope;
  for (std::size_t k = 0; k < job.which.size(); ++k) {
    const std::size_t r = job.which[k];
    std::vector<double> here = roots_of(echo[k]);
    const double far = distance(impl_->served[r], here, impl_->statements[r].rows.size());
    sum += far;
    if (job.what == Job::What::suspect) {
      impl_->tried[job.index].distance[r] = far;
      impl_->tried[job.index].roots[r] = std::move(here);
    } else if (job.what == Job::What::direction) {
      const std::vector<double>& from = impl_->tried[impl_->best].roots[r];
      for (std::size_t i = 0; i < here.size(); ++i) here[i] = (here[i] - from[i]) / kMove;
      slope.push_back(std::move(here));
    }
  }
  if (job.what == Job::What::single) impl_->noise = sum / static_cast<double>(job.which.size());
  if (job.what == Job::What::direction) impl_->slope[job.index] = std::move(slope);
  if (impl_->jobs.empty()) impl_->go_on();
}

std::size_t Fingerprint::alive() const {
  return static_cast<std::size_t>(
      std::count_if(impl_->tried.begin(), impl_->tried.end(), [](const Tried& one) { return !one.out; }));
}

TableVerdict Fingerprint::verdict() const {
  const Impl& s = *impl_;
  TableVerdict out;
  out.statements = s.texts.size();
  if (s.texts.size() <= kBatch || !s.found) {
    out.why = fmt::format("{} texts with log probabilities are too few to tell tables apart", s.texts.size());
    return out;
  }
  const Tried& best = s.tried[s.best];
  const std::vector<double> distances = s.distances(best, s.texts);
  out.name = best.suspect.name;
  out.plan = best.suspect.plan;
  out.distance = eval::estimate(distances).mean;
  out.noise = s.noise;
  for (const Tried& one : s.tried) {
    const eval::Estimate e = s.against_best(one);
    std::vector<std::size_t> run;
    for (const std::size_t r : s.texts) {
      if (one.distance[r] >= 0) run.push_back(r);
    }
    out.rivals.push_back({one.suspect.name, eval::estimate(s.distances(one, run)).mean, std::exp(e.mean), one.out});
    if (!one.out && &one != &best && one.suspect.name != best.suspect.name) out.tied.push_back(one.suspect.name);
  }
  std::stable_sort(out.rivals.begin(), out.rivals.end(),
                   [](const Rival& a, const Rival& b) { return a.times < b.times; });
  const double law = [&] {
    Method own = best.suspect.plan.method;
    own.attention_scale.reset();
    const Result<Plan> plan = make_plan(best.suspect.plan.spec, best.suspect.plan.context_target, own);
    return plan ? plan->groups.front().attention_scale : best.suspect.plan.groups.front().attention_scale;
  }();
  out.scale_off = best.suspect.plan.groups.front().attention_scale / law - 1;
  out.scale_error = 2 * s.found->error.front();

  if (out.noise > kOtherWeights || out.distance > kFarFromAll) {
    out.why = "the server's probabilities differ even where no table matters: its weights are others than these";
    return out;
  }
  if (s.is_off()) {
    out.kind = TableVerdict::Kind::none;
    out.why = s.off(0) ? fmt::format("its attention scale is {:+.1f} % off", 100 * s.found->step[0])
                       : std::string("its pairs rotate at other speeds");
    return out;
  }
  if (out.distance > kTextAdds * std::max(out.noise, kRounding)) {
    out.kind = TableVerdict::Kind::none;
    out.why = fmt::format("it is {:.0f} times as far from the server as rounding and quantisation explain",
                          out.distance / std::max(out.noise, kRounding) / kTextAdds);
    return out;
  }
  out.kind = out.tied.empty() ? TableVerdict::Kind::named : TableVerdict::Kind::tied;
  return out;
}

const char* to_string(TableVerdict::Kind kind) noexcept {
  switch (kind) {
    case TableVerdict::Kind::named: return "named";
    case TableVerdict::Kind::tied: return "tied";
    case TableVerdict::Kind::none: return "none";
    case TableVerdict::Kind::unclear: break;
  }
  return "unclear";
}

}  // namespace mrrope::probe

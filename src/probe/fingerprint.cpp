// SPDX-License-Identifier: MIT
//
// Three phases. Screening: every suspect on the statements, a text at a time, until it is out. Slopes: the best one is
// moved a little in each direction. Lines: where the server lies off, the best laws are followed along their factors,
// the best of all along its attention scale, and the slopes are taken again there. Then the verdict.
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
#include "probe/line_search.h"
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
// Factors of one law that are nearer are one answer, with a range.
constexpr double kNearFactor = 0.2;
constexpr int kMostRounds = 5;
constexpr std::size_t kMostLines = 3;
constexpr int kMostLineRounds = 3;
// Beyond these the weights are others: tokens that no table reaches disagree, or everything does.
constexpr double kOtherWeights = 0.05;
constexpr double kFarFromAll = 0.1;
// Of the way to another table: cache types draw a little to tables with a smaller scale.
constexpr double kDrawnAllowed = 0.25;
// Of the noise of single tokens, which is larger than that of texts where the weights differ, and all but 0 where only
// the shapes of batches do: then a text in float16 has this much (docs/probe.md).
constexpr double kTextAdds = 3;
constexpr double kOtherKernels = 3e-4;

// Student's t, one-sided p = 0.0005, by the Cornish-Fisher series: within 1 % from 6 degrees on.
double certain_t(std::size_t freedom) {
  const auto n = static_cast<double>(std::max<std::size_t>(freedom, 1));
  return 3.2905 + 9.73 / n + 26.1 / (n * n) + 53.2 / (n * n * n);
}

// The server certainly lies short of that table.
bool is_out(const Way& to) { return to.statements >= kBatch && 1 - to.place > certain_t(to.statements - 1) * to.error; }

struct Tried {
  Suspect suspect = {};
  std::vector<std::vector<double>> roots = {};  // per statement; empty: not run
  std::vector<double> distance = {};            // per statement; negative: not run
  bool out = false;
};

// A suspect that is followed to where it explains the server best: along its factor, or its attention scale.
struct Line {
  Suspect from;
  bool scale;
  LineSearch search;

  [[nodiscard]] std::optional<Suspect> at(double place) const {
    if (scale) return rescaled(from, std::exp(place));
    Method method = from.plan.method;
    method.factor.reset();
    method.attention_scale.reset();
    return suspect(from.plan.spec, method, std::exp(place));
  }
};

struct Job {
  enum class What { suspect, single, direction, line } what;
  std::size_t index;  // of the suspect, direction or line
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
  std::optional<std::size_t> slopes_at;  // the suspect that was moved
  std::optional<Slopes> found;
  double noise = 0;

  bool widened = false;
  std::optional<std::size_t> narrowed;  // the suspect whose factor was

  int line_rounds = 0;
  bool drew_factors = false;
  std::vector<Line> lines;
  std::size_t next_line = 0;

  std::vector<double> distances(const Tried& one, const std::vector<std::size_t>& which) const {
    std::vector<double> out;
    for (const std::size_t r : which) out.push_back(one.distance[r]);
    return out;
  }

  double mean_distance(const Tried& one) const { return eval::estimate(distances(one, texts)).mean; }

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

  // On the statements that every suspect was run on.
  double first_distance(const Tried& one) const {
    double sum = 0;
    for (std::size_t i = 0; i < std::min(kBatch, texts.size()); ++i) {
      const double far = one.distance[texts[i]];
      sum += far < 0 ? INFINITY : std::log(far + kRounding);
    }
    return sum;
  }

  // Where the server lies between the best table and this one, on the statements that both were run on.
  Way way_to(const Tried& one) const {
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

  double times_as_far(const Tried& one) const {
    std::vector<double> ratios;
    for (const std::size_t r : texts) {
      if (one.distance[r] < 0 || tried[best].distance[r] < 0) continue;
      ratios.push_back(std::log((one.distance[r] + kRounding) / (tried[best].distance[r] + kRounding)));
    }
    return std::exp(eval::estimate(ratios).mean);
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
      const Way to = way_to(tried[i]);
      tried[i].out = is_out(to);
    }
  }

  void screen() {
    const std::size_t end = std::min(next_text + kBatch, texts.size());
    const std::vector<std::size_t> which(texts.begin() + static_cast<std::ptrdiff_t>(next_text),
                                         texts.begin() + static_cast<std::ptrdiff_t>(end));
    next_text = end;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const bool run = tried[i].distance[which.front()] >= 0;
      if (!tried[i].out && !run) jobs.push_back({Job::What::suspect, i, tried[i].suspect.plan, which});
    }
  }

  void find_slopes() {
    std::vector<std::vector<double>> residual;
    for (const std::size_t r : texts) {
      std::vector<double> left = served[r];
      for (std::size_t i = 0; i < left.size(); ++i) left[i] -= tried[best].roots[r][i];
      residual.push_back(std::move(left));
    }
    found = slopes(residual, slope);
  }

  void take_slopes() {
    ++rounds;
    slopes_at = best;
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

  // The server certainly lies further off in this direction than `allowed`.
  bool off(std::size_t direction, double allowed) const {
    const double error = certain_t(texts.size() - directions.count()) * found->error[direction];
    return std::abs(found->step[direction]) > allowed + error;
  }
  bool off(std::size_t direction) const { return off(direction, direction == 0 ? kScaleAllowed : kSpeedAllowed); }
  bool is_off() const {
    for (std::size_t d = 0; d < directions.count(); ++d) {
      if (off(d)) return true;
    }
    return false;
  }
  // The table, of those that are out, that the server certainly lies towards.
  const Tried* drawn_to() const {
    for (const Tried& one : tried) {
      if (!one.out) continue;
      const Way to = way_to(one);
      if (to.place > kDrawnAllowed + certain_t(to.statements - 1) * to.error) return &one;
    }
    return nullptr;
  }

  // Another table may explain the server better: worth some passes.
  bool is_improvable() const {
    for (std::size_t d = 0; d < directions.count(); ++d) {
      if (off(d, 0)) return true;
    }
    return drawn_to() != nullptr || unexplained() > explained_by_noise();
  }
  double explained_by_noise() const { return std::max(kTextAdds * noise, kOtherKernels); }
  // Distance that is left when the small steps are allowed for.
  double unexplained() const {
    double sum = 0;
    for (std::size_t k = 0; k < texts.size(); ++k) {
      sum += found->left[k] / 2 / static_cast<double>(statements[texts[k]].rows.size());
    }
    return sum / static_cast<double>(texts.size());
  }

  // `now`: on all texts; else it is screened like the others.
  void add(std::optional<Suspect> one, bool now) {
    if (!one) return;
    const auto same = [&](const Tried& other) { return same_table(other.suspect.plan, one->plan); };
    if (std::any_of(tried.begin(), tried.end(), same)) return;
    tried.push_back({*std::move(one), std::vector<std::vector<double>>(statements.size()),
                     std::vector<double>(statements.size(), -1), false});
    if (now) jobs.push_back({Job::What::suspect, tried.size() - 1, tried.back().suspect.plan, texts});
  }

  // The best few laws, wherever on their factors' line they were tried: the best table of a grid need not be of the
  // law that is the best between its points.
  void draw_factor_lines() {
    std::vector<std::size_t> order(tried.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return first_distance(tried[a]) < first_distance(tried[b]); });
    std::vector<std::size_t> laws;
    for (const std::size_t i : order) {
      const Plan& plan = tried[i].suspect.plan;
      const std::size_t law = plan.method.law.index();
      if (laws.size() == kMostLines || !reads_factor(plan.method.law) || !plan.method.modifiers.empty() ||
          std::find(laws.begin(), laws.end(), law) != laws.end()) {
        continue;
      }
      laws.push_back(law);
      lines.push_back({tried[i].suspect, false, LineSearch(std::log(plan.factor), 0.35, 0.02, 0, std::log(64.0))});
    }
  }

  void draw_lines() {
    ++line_rounds;
    bool speeds = false;
    for (std::size_t d = 1; d < directions.count(); ++d) speeds = speeds || off(d, 0);
    const bool scale_only = off(0, 0) && !speeds && line_rounds == 1;
    if (!scale_only && !drew_factors) {
      drew_factors = true;
      draw_factor_lines();
    } else {
      lines.push_back({tried[best].suspect, true, LineSearch(0, 0.04, 0.0025, -0.4, 0.4)});
    }
  }

  // Where noise hides small differences, tables that nobody suspected come into question: more laws, and the factors
  // around the best one's.
  void widen() {
    widened = true;
    for (Suspect& one : neighbours(tried[best].suspect)) add(std::move(one), false);
    next_text = 0;
  }

  // And how well the factor is known.
  void narrow() {
    narrowed = best;
    for (Suspect& one : nearest_factors(tried[best].suspect)) add(std::move(one), true);
  }

  // The next place on a line; at its end, what was found.
  bool follow_lines() {
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

  std::vector<std::size_t> some_texts() const {
    std::vector<std::size_t> out;
    // Of every text in turn, each at another length
    const std::size_t of = std::max<std::size_t>(1, texts.size() / kBatch);
    for (std::size_t k = 0; k < std::min(kBatch, texts.size()); ++k) out.push_back(texts[k % of * kBatch + k]);
    std::sort(out.begin(), out.end());
    return out;
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
      if (!slopes_at || *slopes_at != best) {
        if (rounds == kMostRounds) return;
        take_slopes();
        continue;
      }
      if (!found) find_slopes();
      if (follow_lines()) continue;
      if (line_rounds == kMostLineRounds || !is_improvable()) {
        if (mean_distance(tried[best]) < kOtherKernels || narrowed == best) return;
        if (widened) narrow();
        else widen();
        continue;
      }
      draw_lines();
      follow_lines();
    }
  }
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
  double log_sum = 0;
  std::vector<std::vector<double>> slope;
  for (std::size_t k = 0; k < job.which.size(); ++k) {
    const std::size_t r = job.which[k];
    std::vector<double> here = roots_of(echo[k]);
    const double far = distance(impl_->served[r], here, impl_->statements[r].rows.size());
    sum += far;
    log_sum += std::log(far + kRounding);
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
  if (job.what == Job::What::line) impl_->lines[job.index].search.tell(log_sum);
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
  out.name = best.suspect.name;
  out.plan = best.suspect.plan;
  out.distance = s.mean_distance(best);
  out.noise = s.noise;
  out.factor_low = out.factor_high = table_factor(best.suspect.plan);
  for (const Tried& one : s.tried) {
    std::vector<std::size_t> run;
    for (const std::size_t r : s.texts) {
      if (one.distance[r] >= 0) run.push_back(r);
    }
    out.rivals.push_back({one.suspect.name, eval::estimate(s.distances(one, run)).mean, s.times_as_far(one), one.out});
    if (one.out || &one == &best) continue;
    const double factor = table_factor(one.suspect.plan);
    const bool near = std::abs(std::log(factor / table_factor(best.suspect.plan))) < kNearFactor;
    if (near && one.suspect.plan.method.law == best.suspect.plan.method.law) {
      out.factor_low = std::min(out.factor_low, factor);
      out.factor_high = std::max(out.factor_high, factor);
    } else {
      out.tied.push_back(one.suspect.name);
    }
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
  if (const double far = s.unexplained() / std::max(out.noise, kRounding); far > kTextAdds) {
    out.kind = TableVerdict::Kind::none;
    out.why =
        fmt::format("it is {:.0f} times as far from the server as rounding and quantisation explain", far / kTextAdds);
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

// SPDX-License-Identifier: MIT
#include "mrrope/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "probe/distance.h"
#include "probe/search.h"
#include "probe/suspects.h"

namespace mrrope::probe {

namespace {

// Beyond these the weights are others: tokens that no table reaches disagree, or everything does.
constexpr double kOtherWeights = 0.05;
constexpr double kFarFromAll = 0.1;
// Other weights lie off in one direction for all statements, which no spread over statements shows: Q4_0 for Q8_0 moves
// a factor by up to 14 % (docs/probe.md).
constexpr double kBlurOfWeights = 0.2;

}  // namespace

Fingerprint::Fingerprint(std::vector<Suspect> suspects, std::vector<Statement> statements)
    : impl_(std::make_unique<Impl>(Evidence(std::move(statements), std::move(suspects)))) {
  assert(!impl_->evidence.tried.empty());
  if (!impl_->evidence.texts.empty()) impl_->go_on();
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
  const Evidence& evidence = impl_->evidence;
  double sum = 0;
  double log_sum = 0;
  std::vector<std::vector<double>> slope;
  for (std::size_t k = 0; k < job.which.size(); ++k) {
    const std::size_t r = job.which[k];
    std::vector<double> here = roots_of(echo[k]);
    const double far = distance(evidence.served[r], here, evidence.statements[r].rows.size());
    sum += far;
    log_sum += std::log(far + kRounding);
    if (job.what == Job::What::suspect) {
      impl_->evidence.tell(job.index, r, std::move(here));
    } else if (job.what == Job::What::direction) {
      const std::vector<double>& from = evidence.tried[evidence.best].roots[r];
      for (std::size_t i = 0; i < here.size(); ++i) here[i] = (here[i] - from[i]) / kMove;
      slope.push_back(std::move(here));
    } else if (job.what == Job::What::factor) {
      impl_->aside[job.index].push_back(far);
    }
  }
  if (job.what == Job::What::single) impl_->noise = sum / static_cast<double>(job.which.size());
  if (job.what == Job::What::direction) impl_->slope[job.index] = std::move(slope);
  if (job.what == Job::What::line) impl_->lines[job.index].search.tell(log_sum);
  if (impl_->jobs.empty()) impl_->go_on();
}

std::size_t Fingerprint::alive() const {
  const std::vector<Tried>& tried = impl_->evidence.tried;
  return static_cast<std::size_t>(std::count_if(tried.begin(), tried.end(), [](const Tried& one) { return !one.out; }));
}

namespace {

// The best one, or one as good of the same law with a factor that people set: 2 rather than 2.14.
const Tried& named(const Evidence& evidence) {
  const auto whole = [](const Plan& plan) { return table_factor(plan) == std::round(table_factor(plan)); };
  const Plan& best = evidence.suspect().plan;
  for (const Tried& one : evidence.tried) {
    if (!one.out && whole(one.suspect.plan) && !whole(best) && near(one.suspect.plan, best)) return one;
  }
  return evidence.tried[evidence.best];
}

// The best one, everybody who was tried, and who is left.
TableVerdict described(const Evidence& evidence) {
  const Tried& best = named(evidence);
  TableVerdict out{.name = best.suspect.name, .plan = best.suspect.plan};
  out.distance = evidence.mean_distance(best);
  out.factor_low = out.factor_high = table_factor(best.suspect.plan);
  for (const Tried& one : evidence.tried) {
    out.rivals.push_back({one.suspect, evidence.mean_distance(one), evidence.times_as_far(one), one.out});
    if (one.out) continue;
    if (near(one.suspect.plan, best.suspect.plan)) {
      out.factor_low = std::min(out.factor_low, table_factor(one.suspect.plan));
      out.factor_high = std::max(out.factor_high, table_factor(one.suspect.plan));
    } else {
      out.tied.push_back(one.suspect.name);
    }
  }
  std::stable_sort(out.rivals.begin(), out.rivals.end(),
                   [](const Rival& a, const Rival& b) { return a.times < b.times; });
  return out;
}

}  // namespace

TableVerdict Fingerprint::verdict() const {
  const Impl& s = *impl_;
  const std::size_t texts = s.evidence.texts.size();
  if (texts <= kBatch || !s.found) {
    return {.why = fmt::format("{} texts with log probabilities are too few to tell tables apart", texts),
            .statements = texts};
  }
  TableVerdict out = described(s.evidence);
  out.statements = texts;
  out.noise = s.noise;
  if (const std::optional<Impl::Factor> factor = s.factor()) {
    const double error = std::max(2 * factor->error, s.has_other_weights() ? kBlurOfWeights : 0);
    out.factor_low = std::min(out.factor_low, std::exp(factor->log - error));
    out.factor_high = std::max(out.factor_high, std::exp(factor->log + error));
  }
  out.scale_off = out.plan->groups.front().attention_scale / scale_of_law(*out.plan) - 1;
  out.scale_error = 2 * s.found->error.front();
  const auto is = [&](TableVerdict::Kind kind, std::string why) {
    out.kind = kind;
    out.why = std::move(why);
    return out;
  };
  if (out.noise > kOtherWeights || out.distance > kFarFromAll) {
    return is(TableVerdict::Kind::unclear,
              "the server's probabilities differ even where no table matters: its weights are others than these");
  }
  if (!s.is_settled()) return is(TableVerdict::Kind::unclear, "the search did not come to an end");
  if (s.off(0)) {
    return is(TableVerdict::Kind::none, fmt::format("its attention scale is {:+.1f} % off", 100 * s.found->step[0]));
  }
  if (s.is_off()) return is(TableVerdict::Kind::none, "its pairs rotate at other speeds");
  if (const Tried* other = s.drawn_to(); other != nullptr) {
    return is(TableVerdict::Kind::none, fmt::format("the server lies between it and {}", other->suspect.name));
  }
  if (const double far = s.unexplained() / s.explained_by_noise(); far > 1) {
    return is(TableVerdict::Kind::none,
              fmt::format("it is {:.1f} times as far from the server as rounding and quantisation explain", far));
  }
  return is(out.tied.empty() ? TableVerdict::Kind::named : TableVerdict::Kind::tied, "");
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

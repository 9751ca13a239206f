// SPDX-License-Identifier: MIT
//
// The size that fills a budget of tokens, from few tokenisations: of a text of 128k tokens each may take a second.
// Tokens grow almost linearly with the units of a text, so a guess from a piece of it, corrected twice, is exact to a
// unit. The search keeps what is known to fit and what is known not to, and its steps are bounded; harnesses that go in
// fixed steps until a text fits never end when none does (lm-evaluation-harness issue 2963).
#include "tasks/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace mrrope::eval::drafts {

namespace {

constexpr int kSteps = 5;       // enough where tokens are nearly linear in units
constexpr int kMoreSteps = 40;  // where they are not: bisection
constexpr std::int64_t kProbeWords = 64;
constexpr std::int64_t kProbeRecords = 4;

struct Point {
  std::int64_t units = 0, tokens = 0;
};

// Tokens of a unit. Never 0, whatever a tokenizer says.
double cost_between(Point a, Point b) {
  const double cost = static_cast<double>(b.tokens - a.tokens) / static_cast<double>(b.units - a.units);
  return std::max(cost, 1.0 / 16);
}

class Fitting {
 public:
  Fitting(const Form& form, std::int64_t budget, const TokenCount& count)
      : form_(form), budget_(budget), count_(count) {}

  Result<Fitted> drafted(Size size) const {
    Fitted out{.draft = form_.draft(size), .size = size};
    const Result<std::int64_t> tokens = count_(out.draft.prompt + out.draft.answer_prefix);
    if (!tokens) return tokens.error();
    out.tokens = *tokens;
    return out;
  }

  // Gives `best` as many more units as fit. `cost`: roughly what one takes.
  Result<void> grow(Fitted& best, std::int64_t Size::*unit, double cost) const {
    const Size start = best.size;
    const Point zero{0, best.tokens};
    Point low = zero;
    std::optional<Point> high;
    // No token is many units; without a limit a tokenizer that always says 0 would take all memory
    const std::int64_t limit = 4 * budget_;
    for (int step = 0; step < kMoreSteps; ++step) {
      const std::int64_t slack = budget_ - low.tokens;
      const std::int64_t last = high ? high->units - 1 : limit;
      if (low.units >= last) break;
      if (static_cast<double>(slack) < cost + static_cast<double>(budget_) / 4096) break;
      if (step >= kSteps && slack <= budget_ / 64) break;

      // Guess from the nearer side
      std::int64_t guess = 0;
      if (step >= kSteps && high) {
        guess = low.units + (high->units - low.units) / 2;
      } else if (high && high->tokens - budget_ < slack) {
        guess = high->units - static_cast<std::int64_t>(std::ceil(static_cast<double>(high->tokens - budget_) / cost));
      } else {
        auto more = static_cast<std::int64_t>(std::min(static_cast<double>(slack) / cost, static_cast<double>(limit)));
        // What is known so far is what a few lines cost: a cheap look at an eighth says it better
        if (step == 0 && slack > budget_ / 2 && more > 8 * kProbeWords) more /= 8;
        guess = low.units + more;
      }
      guess = std::clamp(guess, low.units + 1, last);

      Size size = start;
      size.*unit += guess;
      Result<Fitted> tried = drafted(size);
      if (!tried) return tried.error();
      const Point point{guess, tried->tokens};
      if (point.tokens <= budget_) {
        tried->max_new_tokens = best.max_new_tokens;
        best = *std::move(tried);
        low = point;
      } else {
        high = point;
      }
      const bool wide = high && high->units - low.units >= kProbeWords;
      cost = wide ? cost_between(low, *high) : cost_between(zero, point);
    }
    return {};
  }

  // What a unit costs beside nothing else.
  Result<double> cost_of(const Fitted& smallest, std::int64_t Size::*unit, std::int64_t units) const {
    Size size;
    size.*unit = units;
    const Result<Fitted> probe = drafted(size);
    if (!probe) return probe.error();
    return cost_between({0, smallest.tokens}, {units, probe->tokens});
  }

 private:
  const Form& form_;
  std::int64_t budget_;
  const TokenCount& count_;
};

Result<Fitted> grown(const Form& form, const Fitted& smallest, std::int64_t budget, const TokenCount& count) {
  const Fitting fitting(form, budget, count);
  Fitted best = smallest;
  if (form.grows == Form::Grows::by_records) {
    const Result<double> cost = fitting.cost_of(smallest, &Size::records, kProbeRecords);
    if (!cost) return cost.error();
    if (const auto ok = fitting.grow(best, &Size::records, *cost); !ok) return ok.error();
    // A record is much for a short text, and nothing for a long one
    if (budget - best.tokens <= budget / 512) return best;
  }
  const Result<double> cost = fitting.cost_of(smallest, &Size::words, kProbeWords);
  if (!cost) return cost.error();
  if (const auto ok = fitting.grow(best, &Size::words, *cost); !ok) return ok.error();
  return best;
}

}  // namespace

Result<Fitted> fit(std::span<const Form> forms, std::int64_t length, int max_new_tokens, const TokenCount& count) {
  std::int64_t needed = 0;
  for (const Form& form : forms) {
    Result<Fitted> smallest = Fitting(form, 0, count).drafted({});
    if (!smallest) return smallest;
    const Result<std::int64_t> answer = count(smallest->draft.answer);
    if (!answer) return answer.error();
    smallest->max_new_tokens = static_cast<int>(std::max<std::int64_t>(max_new_tokens, *answer + 1));
    const std::int64_t budget = length - smallest->max_new_tokens;
    needed = smallest->tokens + smallest->max_new_tokens;
    if (static_cast<double>(smallest->tokens) > form.share * static_cast<double>(budget)) continue;
    if (form.grows == Form::Grows::never) return smallest;
    return grown(form, *std::move(smallest), budget, count);
  }
  return Error{ErrorCode::too_long,
               fmt::format("the smallest prompt and its answer take {} tokens, there is room for {}", needed, length),
               "", "lengths"};
}

}  // namespace mrrope::eval::drafts

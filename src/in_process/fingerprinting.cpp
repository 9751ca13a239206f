// SPDX-License-Identifier: MIT
#include "mrrope/fingerprinting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "in_process/log_softmax.h"

namespace mrrope::eval {

namespace {

// Distances below this are rounding: the cache is of the server's type.
constexpr double kExact = 2e-5;
// Another type has to halve the distance: noise alone favours one of them by some percent.
constexpr double kClearly = 0.5;
constexpr std::size_t kFew = 8;
constexpr std::array<const char*, 7> kOtherTypes = {"f16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"};

std::size_t common_prefix(const std::vector<Token>& cached, const std::vector<Token>& tokens, std::size_t most) {
  const std::size_t end = std::min({cached.size(), tokens.size(), most});
  std::size_t n = 0;
  while (n < end && cached[n] == tokens[n]) ++n;
  return n;
}

Error cancelled() { return {ErrorCode::cancelled, "cancelled", ""}; }

std::int64_t longest_of(const std::vector<probe::Statement>& statements) {
  std::size_t longest = 1;
  for (const probe::Statement& one : statements) longest = std::max(longest, one.tokens.size());
  return static_cast<std::int64_t>(longest);
}

Result<probe::TableVerdict> search(LlamaContext& context, const std::vector<probe::Suspect>& suspects,
                                   const std::vector<probe::Statement>& statements, std::int64_t& tokens,
                                   const std::function<void(std::size_t, std::size_t)>& progress,
                                   const std::atomic<bool>* cancel) {
  probe::Fingerprint search(suspects, statements);
  std::size_t run = 0;
  while (const std::optional<probe::Fingerprint::Question> question = search.ask()) {
    if (progress) progress(run++, search.alive());
    Result<probe::Echo> answer = echo(context, *question->plan, statements, question->which, tokens, cancel);
    if (!answer) return answer.error();
    search.tell(*answer);
  }
  return search.verdict();
}

Result<double> distance_of(LlamaContext& context, const Plan& plan, const std::vector<probe::Statement>& statements,
                           const std::vector<std::size_t>& which, std::int64_t& tokens,
                           const std::atomic<bool>* cancel) {
  const Result<probe::Echo> answer = echo(context, plan, statements, which, tokens, cancel);
  if (!answer) return answer.error();
  std::vector<probe::Statement> asked;
  asked.reserve(which.size());
  for (const std::size_t s : which) asked.push_back(statements[s]);
  return probe::mean_distance(asked, *answer);
}

// The first few texts: enough to tell which type of a cache was used.
std::vector<std::size_t> first_texts(const std::vector<probe::Statement>& statements) {
  std::vector<std::size_t> out;
  for (std::size_t s = 0; s < statements.size() && out.size() < kFew; ++s) {
    if (statements[s].rows.back().at > 1) out.push_back(s);
  }
  return out;
}

struct Nearest {
  const probe::Suspect* suspect = nullptr;
  double distance = INFINITY;
};
Result<Nearest> nearest_of(LlamaContext& context, const std::vector<probe::Suspect>& suspects,
                           const std::vector<probe::Statement>& statements, const std::vector<std::size_t>& which,
                           std::int64_t& tokens, const std::atomic<bool>* cancel) {
  Nearest out{.suspect = &suspects.front()};
  for (const probe::Suspect& one : suspects) {
    const Result<double> far = distance_of(context, one.plan, statements, which, tokens, cancel);
    if (!far) return far.error();
    if (*far < out.distance) out = {&one, *far};
  }
  return out;
}

// Which type of keys or of values explains the statements best under a plan.
struct TypeSearch {
  const LlamaModel& model;
  const std::vector<probe::Statement>& statements;
  const Plan& plan;
  const std::vector<std::size_t>& which;
  const std::atomic<bool>* cancel;
  std::int64_t& tokens;

  // The type as it is, unless another one clearly fits.
  [[nodiscard]] Result<std::string> best(ContextOptions options, std::string ContextOptions::*type) const {
    std::string best = options.*type;
    if (which.empty()) return best;
    Result<double> least = distance(options);
    if (!least) return least.error();
    for (const char* other : kOtherTypes) {
      if (*least < kExact) break;
      options.*type = other;
      if (type == &ContextOptions::cache_type_v) options.cache_type_k = other;
      const Result<double> far = distance(options);
      if (!far && far.error().code == ErrorCode::cancelled) return far.error();
      if (!far || *far > kClearly * *least) continue;  // some types do not fit a model's heads
      least = *far;
      best = other;
    }
    return best;
  }

 private:
  [[nodiscard]] Result<double> distance(const ContextOptions& options) const {
    Result<LlamaContext> context = LlamaContext::create(model, options);
    if (!context) return context.error();
    return distance_of(*context, plan, statements, which, tokens, cancel);
  }
};

}  // namespace

Result<probe::Echo> echo(LlamaContext& context, const Plan& plan, const std::vector<probe::Statement>& statements,
                         const std::vector<std::size_t>& which, std::int64_t& tokens, const std::atomic<bool>* cancel) {
  if (const auto ok = context.use(plan); !ok) return ok.error();
  probe::Echo out;
  std::vector<Token> cached;
  for (const std::size_t s : which) {
    if (cancel != nullptr && *cancel) return cancelled();
    const probe::Statement& statement = statements[s];
    const std::size_t first = statement.rows.front().at;
    const std::size_t end = statement.rows.back().at;
    // The token before the first row is computed for its logits
    std::size_t keep = common_prefix(cached, statement.tokens, first - 1);
    if (keep == 0 || !context.truncate(keep)) {
      keep = 0;
      context.clear();
    }
    std::vector<std::vector<double>> rows;
    std::size_t next = 0;
    const auto sink = [&](std::size_t index, std::span<const float> logits) {
      if (next == statement.rows.size() || keep + index + 1 != statement.rows[next].at) return;
      const double sum = log_sum_exp(logits);
      std::vector<double> log_p;
      for (const Token token : statement.rows[next].tokens) {
        log_p.push_back(std::min(0.0, static_cast<double>(logits[static_cast<std::size_t>(token)]) - sum));
      }
      rows.push_back(std::move(log_p));
      ++next;
    };
    const std::span<const Token> todo = std::span(statement.tokens).subspan(keep, end - keep);
    if (const auto ok = context.decode(todo, {.logits_from = first - 1 - keep}, sink); !ok) return ok.error();
    tokens += std::ssize(todo);
    out.push_back(std::move(rows));
    cached.assign(statement.tokens.begin(), statement.tokens.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return out;
}

Result<NamedTable> name_table(const LlamaModel& model, const ContextOptions& options,
                              const std::vector<probe::Suspect>& suspects,
                              const std::vector<probe::Statement>& statements,
                              const std::function<void(std::size_t run, std::size_t alive)>& progress,
                              const std::atomic<bool>* cancel) {
  ContextOptions own = options;
  own.ctx_size = longest_of(statements);
  own.swa_full = true;  // or the cache could not go back
  NamedTable out;
  // A token that stands alone meets its own value only, whatever the table
  std::vector<std::size_t> singles;
  for (std::size_t s = 0; s < statements.size(); ++s) {
    if (statements[s].rows.back().at <= 1) singles.push_back(s);
  }
  TypeSearch types{model, statements, suspects.front().plan, singles, cancel, out.tokens};
  Result<std::string> value = types.best(own, &ContextOptions::cache_type_v);
  if (!value) return value.error();
  own.cache_type_v = own.cache_type_k = *value;

  Result<LlamaContext> context = LlamaContext::create(model, own);
  if (!context) return context.error();
  // Keys of another type disturb every text: better known before the search than after it
  const std::vector<std::size_t> first = first_texts(statements);
  Result<Nearest> nearest = nearest_of(*context, suspects, statements, first, out.tokens, cancel);
  if (!nearest) return nearest.error();
  if (nearest->distance > kExact) {
    TypeSearch keys{model, statements, nearest->suspect->plan, first, cancel, out.tokens};
    Result<std::string> key = keys.best(own, &ContextOptions::cache_type_k);
    if (!key) return key.error();
    if (*key != own.cache_type_k) {
      own.cache_type_k = *std::move(key);
      context = LlamaContext::create(model, own);
      if (!context) return context.error();
    }
  }
  Result<probe::TableVerdict> verdict = search(*context, suspects, statements, out.tokens, progress, cancel);
  if (!verdict) return verdict.error();
  out.verdict = *std::move(verdict);
  if (own.cache_type_k != options.cache_type_k || own.cache_type_v != options.cache_type_v) {
    out.cache_type = own.cache_type_k == own.cache_type_v
                         ? own.cache_type_k
                         : fmt::format("{} for keys, {} for values", own.cache_type_k, own.cache_type_v);
  }
  return out;
}

}  // namespace mrrope::eval

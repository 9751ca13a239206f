// SPDX-License-Identifier: MIT
//
// A search that runs a model. What an item of it is: a text, read to its end, and a few prompts of one task at one
// length; both go through the functions that `mrrope eval` uses, into records that are found again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "mrrope/catalogue.h"
#include "mrrope/statistics.h"
#include "mrrope/tuning.h"

namespace mrrope::eval {

namespace {

// Nats of an answer's token against nats of a text's token: with as much a search does not buy one with the other on
// the small model (docs/tune.md).
constexpr double kAnswerWeight = 0.5;
// What the verdict asks comes from other seeds than what the search asks.
constexpr std::uint64_t kHeldOutSeeds = 1'000'000;
// Of a search: five published methods, a step along each axis, and some twenty that are chosen with care. Below that a
// noisier loss of more tables is worth more (docs/tune.md).
constexpr std::int64_t kTables = 30;
constexpr std::int64_t kFewestTables = 15;  // that are worth the wait
constexpr std::size_t kLeastItems = 2;
constexpr std::size_t kLeastTexts = 4;  // three are needed for an interval

// Published methods by their names, what a search found by a short one: tables of results have no room for more.
std::string label_of(const Method& method) {
  const std::string name = spell(method);
  return name.find(':') == std::string::npos ? name : "tuned-" + content_hash(name).substr(0, 4);
}

class Tuner {
 public:
  Tuner(const LlamaModel& model, LlamaContext& context, const RopeSpec& spec, const TuneTexts& texts,
        const TuneOptions& options, const Control& control)
      : model_(model), context_(context), spec_(spec), texts_(texts), options_(options), control_(control) {}

  Result<tune::Search> search(RunFolder& run) {
    Result<tune::Space> space = tune::Space::of(spec_, options_.context_target, options_.space);
    if (!space) return space.error();
    const Result<std::int64_t> budget = budget_of(*space, run);
    if (!budget) return budget.error();
    tune::Search search(*std::move(space), {.items = items_,
                                            .tokens = tokens_of_method(),
                                            .token_budget = *budget,
                                            .prefer = options_.prefer,
                                            .seed = options_.seed});
    while (const std::optional<Method> method = search.ask()) {
      std::vector<tune::Loss> losses;
      for (std::size_t i = 0; i < items_; ++i) {
        const Result<tune::Loss> loss = item(*method, i, run);
        if (!loss) return loss.error();
        losses.push_back(*loss);
      }
      search.tell(std::move(losses));
    }
    return search;
  }

  // A method on what the search has not seen. none: the file as it is, which is read as far as it was trained.
  Result<tune::Measured> held_out(const Method& method, RunFolder& run) {
    tune::Measured out{.name = spell(method)};
    const Result<Candidate> one = candidate(method, label_of(method));
    if (!one) return one.error();
    const bool none = out.name == "none";
    for (const Document& text : std::span(texts_.held_out).first(held_out_texts_)) {
      const Result<Reading> reading = read(*one, text, none ? std::span(lengths_).first(1) : std::span(lengths_), run);
      if (!reading) return reading.error();
      if (!none) out.ppl_long.push_back(per_token(*reading, options_.read_tokens));
      out.ppl_short.push_back(per_token(*reading, options_.context_trained));
    }
    if (none) return out;
    std::vector<const Task*> tasks = options_.tasks;
    if (options_.unseen != nullptr) tasks.push_back(options_.unseen);
    const Result<std::vector<Answer>> answers =
        ask(*one, tasks, options_.prompt_lengths, held_out_samples_, options_.seed + kHeldOutSeeds, run);
    if (!answers) return answers.error();
    for (const Answer& answer : *answers) {
      out.answer_nll.push_back(*nll_per_token(answer));
      out.score.push_back(answer.score);
    }
    return out;
  }

 private:
  [[nodiscard]] const Document& text_of(std::size_t item) const { return texts_.tuning[item % texts_.tuning.size()]; }
  [[nodiscard]] std::int64_t length_of(std::size_t item) const {
    return options_.prompt_lengths[item % options_.prompt_lengths.size()];
  }
  [[nodiscard]] std::int64_t tokens_of_method() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < items_; ++i) sum += options_.read_tokens + samples_ * length_of(i);
    return sum;
  }
  // Of the verdict, which comes after the search in the same minutes.
  [[nodiscard]] std::int64_t held_out_tokens(std::size_t methods) const {
    std::int64_t tokens = options_.read_tokens * static_cast<std::int64_t>(held_out_texts_);
    for (const std::int64_t length : options_.prompt_lengths) {
      tokens += length * held_out_samples_ * (std::ssize(options_.tasks) + 1);
    }
    return tokens * static_cast<std::int64_t>(methods);
  }

  // Tokens for the search, and how many items and samples they are spent on. Minutes are tokens by the time that the
  // first text took, now or in the run that is continued: the same search either way.
  Result<std::int64_t> budget_of(const tune::Space& space, RunFolder& run) {
    if (options_.token_budget > 0) {
      afford(options_.token_budget);
      return options_.token_budget;
    }
    const Result<Candidate> one = candidate(space.fixed().front(), spell(space.fixed().front()));
    if (!one) return one.error();
    const Result<Record> first = pass(*one, text_of(0), lengths_, run);
    if (!first) return first.error();
    const double rate = static_cast<double>(options_.read_tokens) / std::max(first->seconds, 1e-3);
    const auto tokens = static_cast<std::int64_t>(std::min(rate * 60 * options_.minutes, 1e15));
    const std::size_t judged = space.fixed().size() + 1;
    while (held_out_samples_ > 1 && held_out_tokens(judged) > tokens / 2) --held_out_samples_;
    while (held_out_texts_ > kLeastTexts && held_out_tokens(judged) > tokens / 2) --held_out_texts_;
    const std::int64_t budget = tokens - held_out_tokens(judged);
    afford(budget);
    if (budget < kFewestTables * tokens_of_method()) {
      // With more tokens the verdict may have more texts, but never more than half of all
      const std::int64_t search = kFewestTables * tokens_of_method();
      const auto least = static_cast<double>(std::max(search + held_out_tokens(judged), 2 * search));
      return Error{ErrorCode::invalid_argument,
                   fmt::format("too few: this model reads {:.0f} tokens a second here, so that {} tables and a verdict "
                               "take {:.0f} minutes; give it that many",
                               rate, kFewestTables, std::ceil(least / rate / 60)),
                   "", "minutes"};
    }
    return budget;
  }

  void afford(std::int64_t budget) {
    while (samples_ > 1 && tokens_of_method() > budget / kTables) --samples_;
    while (items_ > kLeastItems && tokens_of_method() > budget / kTables) --items_;
  }

  Result<tune::Loss> item(const Method& method, std::size_t item, RunFolder& run) {
    const Result<Candidate> one = candidate(method, spell(method));  // hundreds of them: no short names
    if (!one) return one.error();
    const Result<Reading> reading = read(*one, text_of(item), lengths_, run);
    if (!reading) return reading.error();
    const Task* task = options_.tasks[item % options_.tasks.size()];
    const std::int64_t length = length_of(item);
    const Result<std::vector<Answer>> answers =
        ask(*one, {&task, 1}, {&length, 1}, samples_, options_.seed + item, run);
    if (!answers) return answers.error();
    double nll = 0;
    for (const Answer& answer : *answers) nll += *nll_per_token(answer) / static_cast<double>(answers->size());
    const Reading::Point& within = *point_at(*reading, options_.context_trained);
    const Reading::Point& all = *point_at(*reading, options_.read_tokens);
    const double beyond = (all.nll - within.nll) / static_cast<double>(all.predicted - within.predicted);
    return tune::Loss{.beyond = beyond + kAnswerWeight * nll, .within = per_token(*reading, options_.context_trained)};
  }

  [[nodiscard]] Result<Candidate> candidate(const Method& method, const std::string& name) const {
    if (name == "none") return Candidate{name, 1, std::nullopt};
    Result<Plan> plan = make_plan(spec_, options_.context_target, method);
    if (!plan) return plan.error();
    return Candidate{name, plan->factor, *std::move(plan)};
  }

  Result<Reading> read(const Candidate& one, const Document& text, std::span<const std::int64_t> lengths,
                       RunFolder& run) {
    const Result<Record> found = pass(one, text, lengths, run);
    if (!found) return found.error();
    return *found->reading();
  }

  Result<Record> pass(const Candidate& one, const Document& text, std::span<const std::int64_t> lengths,
                      RunFolder& run) {
    const PplOptions how{.lengths = {lengths.begin(), lengths.end()}};
    if (const auto ok = measure_ppl(model_, context_, {&text, 1}, {&one, 1}, how, run, control_); !ok)
      return ok.error();
    for (const Record& r : run.records()) {
      const Reading* reading = r.reading();
      if (reading == nullptr || r.method != one.method || r.document_hash != text.hash) continue;
      if (std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t n) { return point_at(*reading, n) != nullptr; }))
        return r;
    }
    return Error{ErrorCode::inconsistent, fmt::format("no record of {} on {}", one.method, text.name), run.path()};
  }

  Result<std::vector<Answer>> ask(const Candidate& one, std::span<const Task* const> tasks,
                                  std::span<const std::int64_t> lengths, std::int64_t samples, std::uint64_t seed,
                                  RunFolder& run) {
    const BenchmarkOptions how{.tasks = {tasks.begin(), tasks.end()},
                               .lengths = {lengths.begin(), lengths.end()},
                               .samples = samples,
                               .seed = seed,
                               .frame = options_.frame,
                               .brief = true};
    const Result<BenchmarkCost> cost = measure_answers(model_, context_, texts_.tasks, {&one, 1}, how, run, control_);
    if (!cost) return cost.error();
    std::vector<Answer> answers;
    for (const std::string& key : cost->asked) {
      const Record* record = run.find(key);
      if (record == nullptr || !record->answer()->right) {
        return Error{ErrorCode::inconsistent, fmt::format("no answer of {} with its likelihood", one.method),
                     run.path()};
      }
      answers.push_back(*record->answer());
    }
    return answers;
  }

  // Null: a folder holds what somebody else put there, too.
  static const Reading::Point* point_at(const Reading& reading, std::int64_t length) {
    for (const Reading::Point& p : reading.points) {
      if (p.length == length && p.predicted > 0) return &p;
    }
    return nullptr;
  }
  static double per_token(const Reading& reading, std::int64_t length) {
    const Reading::Point& p = *point_at(reading, length);
    return p.nll / static_cast<double>(p.predicted);
  }

  const LlamaModel& model_;
  LlamaContext& context_;
  const RopeSpec& spec_;
  const TuneTexts& texts_;
  const TuneOptions& options_;
  const Control& control_;
  const std::array<std::int64_t, 2> lengths_ = {options_.context_trained, options_.read_tokens};
  // What the budget pays for
  std::size_t items_ = options_.items;
  std::int64_t samples_ = options_.samples;
  std::size_t held_out_texts_ = texts_.held_out.size();
  std::int64_t held_out_samples_ = options_.held_out_samples;
};

}  // namespace

Result<Tuned> tune_model(const LlamaModel& model, LlamaContext& context, const RopeSpec& spec, const TuneTexts& texts,
                         const TuneOptions& options, RunFolder& search_run, RunFolder& verdict_run,
                         const Control& control) {
  Tuner tuner(model, context, spec, texts, options, control);
  const Result<tune::Search> search = tuner.search(search_run);
  if (!search) return search.error();
  Tuned out;
  out.label = label_of(search->best().method);
  out.tuned = search->best().name();
  out.best_fixed = search->best_fixed().name();
  out.candidates.assign(search->candidates().begin(), search->candidates().end());
  out.tokens = search->tokens();

  const Result<tune::Measured> tuned = tuner.held_out(search->best().method, verdict_run);
  if (!tuned) return tuned.error();
  std::vector<tune::Measured> fixed;
  std::vector<Method> methods;
  for (const tune::Candidate& c : search->candidates()) {
    if (c.fixed && (c.name() != out.tuned || c.name() == out.best_fixed)) methods.push_back(c.method);
  }
  methods.emplace_back();  // none
  for (const Method& method : methods) {
    Result<tune::Measured> measured = tuner.held_out(method, verdict_run);
    if (!measured) return measured.error();
    fixed.push_back(*std::move(measured));
  }
  out.held_out_texts = tuned->ppl_long.size();
  out.held_out_prompts = tuned->score.size();
  const tune::Metric deciding =
      options.prefer == tune::Prefer::short_texts ? tune::Metric::ppl_short : tune::Metric::ppl_long;
  out.verdict = tune::verdict(*tuned, fixed, out.best_fixed, deciding);
  const tune::Candidate& chosen = out.verdict.recommended == "tuned" ? search->best() : search->best_fixed();
  Result<Plan> plan = make_plan(spec, options.context_target, chosen.method);
  if (!plan) return plan.error();
  out.plan = *std::move(plan);
  return out;
}

}  // namespace mrrope::eval

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
    tune::SearchOptions how{.prefer = options_.prefer, .seed = options_.seed};
    for (std::size_t i = 0; i < options_.items; ++i) how.item_tokens.push_back(tokens_of(i));
    const Result<std::int64_t> budget = budget_of(*space, run);
    if (!budget) return budget.error();
    how.token_budget = *budget;
    tune::Search search(*std::move(space), std::move(how));
    while (const std::optional<tune::Ask> ask = search.ask()) {
      std::vector<tune::Loss> losses;
      for (std::size_t i = ask->from; i < ask->to; ++i) {
        const Result<tune::Loss> loss = item(ask->method, i, run);
        if (!loss) return loss.error();
        losses.push_back(*loss);
      }
      search.tell(losses);
    }
    return search;
  }

  // A method on what the search has not seen. none: the file as it is, whose answers nobody asks for out there.
  Result<tune::Measured> held_out(const Method& method, RunFolder& run) {
    tune::Measured out{.name = spell(method)};
    const Result<Candidate> one = candidate(method, label_of(method));
    if (!one) return one.error();
    for (const Document& text : texts_.held_out) {
      const Result<Reading> reading = read(*one, text, run);
      if (!reading) return reading.error();
      out.ppl_long.push_back(per_token(*reading, options_.read_tokens));
      out.ppl_short.push_back(per_token(*reading, options_.context_trained));
    }
    if (out.name == "none") return out;
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
    return options_.prompt_lengths[item / options_.tasks.size() % options_.prompt_lengths.size()];
  }
  [[nodiscard]] std::int64_t tokens_of(std::size_t item) const {
    return options_.read_tokens + options_.samples * length_of(item);
  }

  // Of the verdict, which comes after the search in the same minutes.
  [[nodiscard]] double held_out_tokens(std::size_t methods) const {
    double tokens = static_cast<double>(options_.read_tokens) * static_cast<double>(texts_.held_out.size());
    for (const std::int64_t length : options_.prompt_lengths) {
      tokens += static_cast<double>(length * held_out_samples_) * static_cast<double>(options_.tasks.size() + 1);
    }
    return tokens * static_cast<double>(methods);
  }

  // Tokens for the search. By the time that the first item took, now or in the run that is continued: the same search
  // either way. Half of the minutes at most are the verdict's, while it has two samples of each kind.
  Result<std::int64_t> budget_of(const tune::Space& space, RunFolder& run) {
    if (options_.token_budget > 0) return options_.token_budget;
    const Result<tune::Loss> first = item(space.fixed().front(), 0, run);
    if (!first) return first.error();
    double seconds = 0;
    const auto records = std::min<std::size_t>(run.records().size(), 1 + static_cast<std::size_t>(options_.samples));
    for (std::size_t i = 0; i < records; ++i) seconds += run.records()[i].seconds;
    const double rate = static_cast<double>(tokens_of(0)) / std::max(seconds, 1e-3);
    const double tokens = rate * 60 * options_.minutes;
    const std::size_t judged = space.fixed().size() + 1;
    while (held_out_samples_ > 2 && held_out_tokens(judged) > tokens / 2) --held_out_samples_;
    return static_cast<std::int64_t>(std::max(tokens - held_out_tokens(judged), 1.0));
  }

  Result<tune::Loss> item(const Method& method, std::size_t item, RunFolder& run) {
    const Result<Candidate> one = candidate(method, spell(method));  // hundreds of them: no short names
    if (!one) return one.error();
    const Result<Reading> reading = read(*one, text_of(item), run);
    if (!reading) return reading.error();
    const Task* task = options_.tasks[item % options_.tasks.size()];
    const std::int64_t length = length_of(item);
    const Result<std::vector<Answer>> answers =
        ask(*one, {&task, 1}, {&length, 1}, options_.samples, options_.seed + item, run);
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

  Result<Reading> read(const Candidate& one, const Document& text, RunFolder& run) {
    const PplOptions how{.lengths = {options_.context_trained, options_.read_tokens}};
    if (const auto ok = measure_ppl(model_, context_, {&text, 1}, {&one, 1}, how, run, control_); !ok)
      return ok.error();
    for (const Record& r : run.records()) {
      const Reading* reading = r.reading();
      if (reading == nullptr || r.method != one.method || r.document_hash != text.hash) continue;
      if (point_at(*reading, how.lengths[0]) != nullptr && point_at(*reading, how.lengths[1]) != nullptr)
        return *reading;
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
  methods.emplace_back();  // none: what short texts are without a plan
  for (const Method& method : methods) {
    Result<tune::Measured> measured = tuner.held_out(method, verdict_run);
    if (!measured) return measured.error();
    fixed.push_back(*std::move(measured));
  }
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

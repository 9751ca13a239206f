// SPDX-License-Identifier: MIT
//
// mrrope eval suite: how far a model can be trusted, in the minutes one has.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/eval/benchmark.h"
#include "cli/eval/session.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/benchmarks.h"
#include "mrrope/statistics.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

using base::Json;

// One of each kind of RULER's tasks that a small model may solve, and that needs no file.
constexpr std::string_view kSuiteTasks = "niah_single_1,niah_single_2,niah_multikey_1,niah_multivalue,vt";
constexpr std::int64_t kFewestSamples = eval::kFewestSamples, kMostSamples = 100;

struct SuiteCommand {
  BenchmarkCommand benchmark;
  double minutes = 10;
  bool quick = false;  // says what is the default anyway
};

// From the trained length in doublings to the longest target.
std::string lengths_for(std::int64_t trained, double factor) {
  std::string text;
  const auto target = static_cast<std::int64_t>(std::llround(factor * static_cast<double>(trained)));
  for (std::int64_t length = trained; length < target; length *= 2) text += std::to_string(length) + ",";
  return text + std::to_string(target);
}

// Whether the first samples of a task fit, with a little to spare for others. None of RULER's has a smallest prompt of
// 4k tokens by any tokenizer worth its name, and a look at 128k would take seconds.
bool fits(const eval::Task& task, const eval::TaskTexts& texts, const eval::TokenCount& count,
          const eval::BenchmarkOptions& options, std::int64_t length) {
  constexpr std::int64_t kLook = 4096, kSamples = 8, kSpare = 32;
  const Result<std::int64_t> frame = count(options.frame.before + options.frame.after);
  if (!frame) return false;
  for (const std::int64_t tried : {std::min(length, kLook), length}) {
    bool all = true;
    for (std::int64_t i = 0; i < kSamples && all; ++i) {
      const eval::SampleRequest request{
          .length = tried, .seed = options.seed, .index = i, .depth = {}, .frame_tokens = *frame + kSpare};
      all = make_sample(task, texts, request, count).has_value();
    }
    if (all) return true;
  }
  return false;
}

// The lengths are the model's own, and short ones hold no prompt of some tasks, least of all by a tokenizer of bytes.
// What the longest does not hold is left out of the tasks, what is too short for the others out of the lengths.
void leave_out_what_does_not_fit(const LlamaModel& model, const eval::TaskTexts& texts,
                                 eval::BenchmarkOptions& options) {
  const eval::TokenCount count = eval::token_counter(model);
  std::vector<const eval::Task*> kept;
  std::size_t first = 0;  // of the lengths
  const eval::Task* longest = nullptr;
  for (const eval::Task* task : options.tasks) {
    std::size_t at = 0;
    while (at < options.lengths.size() && !fits(*task, texts, count, options, options.lengths[at])) ++at;
    if (at == options.lengths.size()) {
      note("left out  {}: no prompt of it fits {} tokens\n", task->name, format_context(options.lengths.back()));
      continue;
    }
    kept.push_back(task);
    if (at <= first) continue;
    first = at;
    longest = task;
  }
  if (kept.empty()) return;  // the first sample says what is missing
  options.tasks = kept;
  if (longest == nullptr) return;
  note("left out  lengths below {}: no prompt of {} fits them\n", format_context(options.lengths[first]),
       longest->name);
  options.lengths.erase(options.lengths.begin(), options.lengths.begin() + static_cast<std::ptrdiff_t>(first));
}

// Seconds for one prompt of each length, found by running one.
Result<double> seconds_per_round(const Session& session, LlamaContext& context, const eval::TaskTexts& texts,
                                 eval::BenchmarkOptions options) {
  options.tasks.resize(1);
  options.samples = 1;
  options.seed += 1;  // not one of the samples
  options.share_prefixes = false;
  const eval::Candidate plain{"none", 1, std::nullopt};
  EvalOptions nowhere;
  eval::RunInfo info = session.run.info();
  Result<OpenRun> scratch = open_run(nowhere, std::move(info));
  if (!scratch) return scratch.error();
  const auto start = std::chrono::steady_clock::now();
  const Result<eval::BenchmarkCost> cost =
      measure_answers(session.model, context, texts, {&plain, 1}, options, scratch->folder);
  if (!cost) return cost.error();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int print_suite(const EvalOptions& options, const eval::RunInfo& info, std::span<const eval::Record> records,
                std::span<const eval::Candidate> candidates, std::span<const std::int64_t> lengths) {
  const std::vector<eval::ScoreRow> scores = score_table(records);
  const std::vector<eval::MeanScoreRow> means = mean_scores(scores);
  if (options.json) {
    Json json = report_head(info);
    json["task"] = "suite";
    json["means"] = json["effective"] = Json::array();
    for (const eval::ScoreRow& r : scores) json["results"].push_back(score_json(r));
    for (const eval::MeanScoreRow& r : means) {
      json["means"].push_back(Json{{"method", r.method},
                                   {"factor", r.factor},
                                   {"length", r.length},
                                   {"tasks", r.tasks},
                                   {"score", r.score},
                                   {"stderr", r.stderr_score},
                                   {"low", r.low},
                                   {"high", r.high}});
    }
    const auto known = [](std::int64_t length) { return length > 0 ? Json(length) : Json(nullptr); };
    for (const eval::Candidate& c : candidates) {
      const eval::EffectiveLength e = effective_length(means, c.method, c.factor);
      json["effective"].push_back(
          Json{{"method", c.method}, {"factor", c.factor}, {"length", known(e.length)}, {"sure", known(e.sure)}});
    }
    print("{}", base::write_json(json));
    return 0;
  }
  std::vector<std::string> header = {"method", "S"};
  for (const std::int64_t length : lengths) header.push_back(format_context(length));
  header.emplace_back("good to");
  header.emplace_back("surely to");
  TextTable table(header, 1);
  const auto shown = [](std::int64_t length) { return length > 0 ? format_context(length) : std::string("-"); };
  for (const eval::Candidate& c : candidates) {
    std::vector<std::string> cells = {c.method, fmt::format("{:g}", c.factor)};
    for (const std::int64_t length : lengths) {
      const auto row = std::find_if(means.begin(), means.end(), [&](const eval::MeanScoreRow& r) {
        return r.method == c.method && r.factor == c.factor && r.length == length;
      });
      cells.push_back(row == means.end() ? "-" : row->cell());
    }
    const eval::EffectiveLength e = effective_length(means, c.method, c.factor);
    cells.push_back(shown(e.length));
    cells.push_back(shown(e.sure));
    table.add(cells);
  }
  const std::size_t tasks = means.empty() ? 0 : means.front().tasks;
  std::size_t samples = 0;
  for (const eval::ScoreRow& r : scores) samples = std::max(samples, r.samples);
  print(
      "{}Percent right with its 95 % interval: the mean of {} task{}, up to {} samples each.\n"
      "Good to: the longest length above RULER's 85.6 %; surely to: the longest whose\n"
      "whole interval is above it\n",
      table.text(), tasks, tasks == 1 ? "" : "s", samples);
  print_next(options);
  return 0;
}

int run_suite(const SuiteCommand& suite, const std::vector<std::string>& words) {
  BenchmarkCommand command = suite.benchmark;
  const Result<std::vector<eval::Candidate>> candidates = candidates_of(command.eval);
  if (!candidates) return fail(candidates.error());
  command.eval.settings["chat-template"] = command.chat_template;
  Result<Session> session = start_session(command.eval, command.group, words);
  if (!session) return fail(session.error());
  double factor = 1;
  for (const std::string_view part : base::split(command.eval.factors, ',')) {  // "none" alone has no factor
    if (const Result<double> wanted = parse_number(part)) factor = std::max(factor, *wanted);
  }
  const bool own_lengths = command.lengths.empty();
  if (own_lengths) command.lengths = lengths_for(session->run.info().context_trained, factor);

  const Result<Prepared> prepared = prepare(command);
  if (!prepared) return fail(prepared.error());
  eval::BenchmarkOptions options = prepared->options;
  Result<LlamaContext> context = ready_context(command, command.eval.context, session->model, options);
  if (!context) return fail(context.error());

  if (own_lengths) leave_out_what_does_not_fit(session->model, prepared->texts, options);

  const Result<double> round = seconds_per_round(*session, *context, prepared->texts, options);
  if (!round) return fail(round.error());
  const double per_sample = *round * static_cast<double>(options.tasks.size() * candidates->size());
  const double affordable = 60 * suite.minutes / std::max(per_sample, 1e-3);
  options.samples = std::clamp(static_cast<std::int64_t>(affordable), kFewestSamples, kMostSamples);
  const auto counted = [](std::size_t n, const char* thing) {
    return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
  };
  note("{} samples of {} at {} under {}: about {}{}\n", options.samples, counted(options.tasks.size(), "task"),
       counted(options.lengths.size(), "length"), counted(candidates->size(), "method"),
       counted(static_cast<std::size_t>(std::ceil(static_cast<double>(options.samples) * per_sample / 60)), "minute"),
       affordable < kFewestSamples ? "; fewer samples would say nothing" : "");
  const Result<eval::BenchmarkCost> cost = measure_answers(session->model, *context, prepared->texts, *candidates,
                                                           options, session->run, make_control(session->run));
  if (!cost) return ended(cost.error(), command.eval);
  return print_suite(command.eval, session->run.info(), records_of(session->run, cost->asked), *candidates,
                     options.lengths);
}

}  // namespace

void add_suite(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  auto suite = std::make_shared<SuiteCommand>();
  BenchmarkCommand& b = suite->benchmark;
  b.group = "ruler";
  b.tasks = kSuiteTasks;
  b.eval.methods = "none,yarn,mrrope-pro";
  CLI::App* command = program.add_subcommand("suite",
                                             "how far the model can be trusted, in the minutes you have\n"
                                             "\n"
                                             "  mrrope eval suite -m model.gguf --factor 4 --quick -o run\n");
  command->add_option("-m,--model", b.eval.model, "a .gguf; it is not changed")->required()->type_name("FILE");
  command->add_option("--factor", b.eval.factors, "how many times the trained length")->required()->type_name("S");
  add_trained(*command, b.eval.trained);
  command->add_option("--methods", b.eval.methods, "default: none,yarn,mrrope-pro")->type_name("LIST");
  command->add_flag("--quick", suite->quick, "ten minutes (the default)");
  command->add_option("--minutes", suite->minutes, "as many samples as fit into this time (10)")
      ->check(number_between(0.01, 100'000))
      ->type_name("N");
  command->add_option("--lengths", b.lengths, "default: doublings from the trained length on")->type_name("LIST");
  command->add_option("-f,--haystack", b.eval.texts, "the haystack: files of prose (default: built in)")
      ->type_name("TEXT");
  command->add_option("-o,--output", b.eval.output, "a folder for the records")->type_name("FOLDER");
  command->add_flag("--json", b.eval.json, "the results as JSON");
  command->add_option("--chat-template", b.chat_template, "auto, none, or a name that llama.cpp knows")
      ->type_name("NAME");
  add_llama_options(*command, b.eval);
  command->callback([suite, &action, words] { action = [suite, words] { return run_suite(*suite, words); }; });
}

}  // namespace mrrope::cli

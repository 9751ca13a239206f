// SPDX-License-Identifier: MIT
//
// mrrope tune: the best plan for this model, found by measuring, with a verdict on what the search has not seen.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/eval/session.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "files/output_file.h"
#include "mrrope/catalogue.h"
#include "mrrope/targets.h"
#include "mrrope/tuning.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

using base::Json;

struct TuneCommand {
  EvalOptions eval;
  std::string context;
  std::string target;  // an engine
  std::string tasks;
  std::string prefer = "balanced";
  std::string chat_template = "auto";
  double minutes = 30;
  std::int64_t tokens = 0;
  std::uint64_t seed = 1;
};

// What the engine can be told about this model; without one any table, which the plug-in and mrrope itself run.
Result<tune::SpaceOptions> space_for(const std::string& engine, const ModelFile& file, const RopeSpec& spec,
                                     std::int64_t target) {
  if (engine.empty()) return tune::SpaceOptions{};
  Error last;
  for (const tune::Family family : {tune::Family::any_table, tune::Family::yarn_keys}) {
    for (const bool any_scale : {true, false}) {
      tune::SpaceOptions options{.family = family};
      if (!any_scale) options.attention_scale = 1;
      const Result<tune::Space> space = tune::Space::of(spec, target, options);
      if (!space) return space.error();
      const std::vector<double> somewhere(space->axes().size(), 0.4);
      const Result<Plan> plan = make_plan(spec, target, space->at(somewhere));
      if (!plan) return plan.error();
      const Result<Delivery> delivery = deliver(engine, *plan, file);
      if (delivery) return options;
      last = delivery.error();
    }
  }
  return Error{last.code, last.message, "--target"};
}

Result<std::vector<const eval::Task*>> tasks_of(const std::string& names) {
  std::vector<const eval::Task*> tasks;
  for (const std::string_view name : base::split(names, ',')) {
    const eval::Task* task = eval::find_task(name);
    if (task == nullptr)
      return Error{ErrorCode::invalid_argument, fmt::format("there is no task \"{}\"", name), "--tasks"};
    if (task->needs != eval::TaskNeeds::nothing && task->needs != eval::TaskNeeds::haystack) {
      return Error{ErrorCode::invalid_argument, fmt::format("{} asks the questions of a file; take others", name),
                   "--tasks"};
    }
    tasks.push_back(task);
  }
  return tasks;
}

std::string cell(const tune::Difference& d) {
  const bool relative = d.metric == tune::Metric::ppl_long || d.metric == tune::Metric::ppl_short;
  const bool points = d.metric == tune::Metric::score;
  const double unit = relative || points ? 100 : 1;
  return fmt::format("{:+.{}f} ± {:.{}f}{}{}", unit * d.difference, relative || points ? 1 : 3,
                     unit * (d.high - d.low) / 2, relative || points ? 1 : 3, relative ? " %" : "",
                     d.better || d.worse ? " *" : "  ");
}

std::string verdict_table(const eval::Tuned& tuned, const eval::TuneOptions& options) {
  TextTable table({"against", "ppl at " + format_context(options.read_tokens),
                   "within " + format_context(options.context_trained), "-ln p, answers", "points"},
                  1);
  std::vector<std::string> names;
  for (const tune::Difference& d : tuned.verdict.differences) {
    if (d.against == tuned.tuned) continue;  // nothing but itself was found
    if (std::find(names.begin(), names.end(), d.against) == names.end()) names.push_back(d.against);
  }
  for (const std::string& name : names) {
    std::vector<std::string> cells = {name, "-", "-", "-", "-"};
    for (const tune::Difference& d : tuned.verdict.differences) {
      if (d.against == name) cells[1 + static_cast<std::size_t>(d.metric)] = cell(d);
    }
    table.add(cells);
  }
  return table.text();
}

Json verdict_json(const tune::Verdict& verdict) {
  Json list = Json::array();
  for (const tune::Difference& d : verdict.differences) {
    list.push_back(Json{{"against", d.against},
                        {"metric", tune::to_string(d.metric)},
                        {"difference", d.difference},
                        {"low", d.low},
                        {"high", d.high},
                        {"items", d.items}});
  }
  return list;
}

int print_tuned(const TuneCommand& command, const eval::Tuned& tuned, const eval::TuneOptions& options,
                const eval::TuneTexts& texts, const std::string& plan_file, const ModelFile& file) {
  std::size_t evaluations = 0;
  for (const tune::Candidate& c : tuned.candidates) evaluations += c.losses.empty() ? 0U : 1U;
  const bool wins = tuned.verdict.recommended == "tuned";
  if (command.eval.json) {
    print("{}", base::write_json(Json{{"schema", "mrrope.tune/1"},
                                      {"model", command.eval.model},
                                      {"plan", Json::parse(to_json(tuned.plan))},
                                      {"tuned", tuned.tuned},
                                      {"label", tuned.label},
                                      {"best_fixed", tuned.best_fixed},
                                      {"evaluations", evaluations},
                                      {"tokens", tuned.tokens},
                                      {"verdict", verdict_json(tuned.verdict)},
                                      {"recommended", tuned.verdict.recommended}}));
    return 0;
  }
  print("searched  {} tables, {} tokens\n", evaluations, format_context(tuned.tokens));
  print("found     {}\n", tuned.label == tuned.tuned ? tuned.tuned : tuned.label + ", " + tuned.tuned);
  std::size_t prompts = 0;
  for (const tune::Difference& d : tuned.verdict.differences) {
    if (d.metric == tune::Metric::score) prompts = d.items;
  }
  print("verdict   on {} unseen texts and {} unseen prompts:\n\n{}", texts.held_out.size(), prompts,
        verdict_table(tuned, options));
  print(
      "Difference of what was found; negative is better but for points. ± half of the 95 %\ninterval; * a "
      "difference\n\n");
  if (wins) {
    print("use       what was found: better than {}, the best of the published methods here\n", tuned.best_fixed);
  } else if (tuned.tuned == tuned.best_fixed) {
    print("use       {}: nothing better was found on the tuning texts\n", tuned.best_fixed);
  } else {
    print("use       {}: what was found is no better on texts it has not seen\n", tuned.best_fixed);
  }
  if (texts.built_in) print("note      tuned on built-in prose; -f 'your/texts/*' tunes on what you will read\n");
  const std::string model = base::shell_quoted(command.eval.model);
  if (const Result<Delivery> delivery = deliver("llama.cpp", tuned.plan, file)) {
    print("next      mrrope extend {} --plan {} -o longer.gguf\n", model, base::shell_quoted(plan_file));
  } else {
    print("{}", wrap("note      " + delivery.error().message, terminal().width - 10, 10) + "\n");
    print("next      mrrope tune {} -c {} --target llama.cpp -o tuned-llama.cpp\n", model, command.context);
  }
  print("          mrrope report {} -o page.html\n", base::shell_quoted(command.eval.output));
  return 0;
}

int run_tune(TuneCommand command, const std::vector<std::string>& words) {
  const Result<ModelFile> file = read_model(command.eval.model);
  if (!file) return fail(file.error());
  const Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return fail(Error{spec.error().code, to_string(spec.error()), command.eval.model});
  const Result<std::int64_t> target = parse_context(command.context);
  if (!target) return fail(Error{ErrorCode::invalid_argument, to_string(target.error()), "-c"});
  Result<eval::TuneOptions> options = eval::tune_defaults(*spec, *target);
  if (!options) return fail(options.error());
  Result<tune::SpaceOptions> space = space_for(command.target, *file, *spec, *target);
  if (!space) return fail(space.error());
  options->space = *space;
  options->minutes = command.minutes;
  options->token_budget = command.tokens;
  options->seed = command.seed;
  options->prefer = command.prefer == "long"    ? tune::Prefer::long_texts
                    : command.prefer == "short" ? tune::Prefer::short_texts
                                                : tune::Prefer::balanced;
  if (!command.tasks.empty()) {
    Result<std::vector<const eval::Task*>> tasks = tasks_of(command.tasks);
    if (!tasks) return fail(tasks.error());
    options->tasks = *std::move(tasks);
  }

  command.eval.settings["chat-template"] = command.chat_template;
  command.eval.settings["context"] = std::to_string(*target);
  Result<Session> session = start_session(command.eval, "tune", words);
  if (!session) return fail(session.error());
  EvalOptions search_options = command.eval;
  search_options.output += "/search";
  Result<OpenRun> search_run = open_run(search_options, session->run.info());
  if (!search_run) return fail(search_run.error());
  Result<eval::PromptFrame> frame = eval::make_frame(session->model, command.chat_template);
  if (!frame) return fail(frame.error());
  options->frame = *std::move(frame);
  const Result<eval::TuneTexts> texts = tune_texts(session->model, command.eval.texts, *options);
  if (!texts) return fail(texts.error());
  ContextOptions context_options = command.eval.context;
  context_options.ctx_size = std::max(options->read_tokens, options->prompt_lengths.back());
  Result<LlamaContext> context = LlamaContext::create(session->model, context_options);
  if (!context) return fail(context.error());
  if (!command.eval.json) {
    note("{} -> {} ({:g} times): {} texts of {}, prompts of {}\n", format_context(options->context_trained),
         format_context(*target), static_cast<double>(*target) / static_cast<double>(options->context_trained),
         texts->tuning.size(), format_context(options->read_tokens), format_context(options->prompt_lengths.back()));
  }

  const Result<eval::Tuned> tuned = tune_model(session->model, *context, *spec, *texts, *options, search_run->folder,
                                               session->run, make_control(search_run->folder));
  if (!tuned) return ended(tuned.error(), command.eval);
  const std::string plan_file = command.eval.output + "/plan.json";
  const base::OutputRule ours{
      .ours = [](std::string_view start) { return start.find(kPlanSchema) != std::string_view::npos; }};
  if (const auto ok = base::write_output(plan_file, to_json(tuned->plan), ours); !ok) return fail(ok.error());
  return print_tuned(command, *tuned, *options, *texts, plan_file, *file);
}

}  // namespace

void add_tune(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  auto tune = std::make_shared<TuneCommand>();
  tune->eval.output = "tuned";
  CLI::App* command = program.add_subcommand("tune",
                                             "the best plan for this model, found by measuring\n"
                                             "\n"
                                             "  mrrope tune model.gguf -c 32k -f 'texts/*' -o tuned\n"
                                             "  mrrope extend model.gguf --plan tuned/plan.json -o longer.gguf\n");
  command->add_option("model", tune->eval.model, "a .gguf; it is not changed")->required()->type_name("FILE");
  command->add_option("-c,--ctx-size", tune->context, "the length wanted: 32k")->required()->type_name("N");
  command->add_option("-f,--file", tune->eval.texts, "texts to tune on and to judge by (default: built in)")
      ->type_name("TEXT");
  command->add_option("-o,--output", tune->eval.output, "a folder; run again to continue (tuned)")->type_name("FOLDER");
  command->add_option("--minutes", tune->minutes, "for search and verdict together (30)")
      ->check(number_between(0.01, 100'000))
      ->type_name("N");
  command->add_option("--tokens", tune->tokens, "for the search, in the place of minutes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
      ->type_name("N");
  command->add_option("--target", tune->target, "only what this engine runs (default: any table)")->type_name("ENGINE");
  command->add_option("--prefer", tune->prefer, "long, balanced or short texts (balanced)")
      ->check(CLI::IsMember({"long", "balanced", "short"}))
      ->type_name("WHICH");
  command->add_option("--tasks", tune->tasks, "to tune on (passkey,niah_multikey_1,number_string)")->type_name("LIST");
  command->add_option("--seed", tune->seed, "of search and prompts (1)")->type_name("N");
  command->add_flag("--json", tune->eval.json, "the result as JSON");
  command->add_option("--chat-template", tune->chat_template, "auto, none, or a name that llama.cpp knows")
      ->type_name("NAME");
  add_llama_options(*command, tune->eval);
  command->callback([tune, &action, words] { action = [tune, words] { return run_tune(*tune, words); }; });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// mrrope tune: the best plan for this model, found by measuring, with a verdict on what the search has not seen.
#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/eval/session.h"
#include "cli/eval/tune_result.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "cli/tune_space.h"
#include "files/links.h"
#include "files/output_file.h"
#include "mrrope/tuning.h"
#include "mrrope/units.h"

namespace mrrope::cli {

namespace {

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
  bool named = false;  // the folder
};

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

// Into the folder; replaces only a document of the same schema.
Result<void> keep(const std::string& path, const std::string& text, std::string_view schema) {
  const base::OutputRule ours{
      .ours = [schema](std::string_view start) { return start.find(schema) != std::string_view::npos; }};
  return base::write_output(path, text, ours);
}

// Half an hour before the end, where the end would be a plan that the file cannot carry.
void note_what_fits(const TuneCommand& command, const ModelFile& file, const RopeSpec& spec, std::int64_t target) {
  if (!command.target.empty() || command.eval.json) return;
  const Result<tune::SpaceOptions> carried = space_for("llama.cpp", file, spec, target);
  if (carried && carried->family == tune::Family::any_table) return;
  const std::string_view reads = carried ? "only settings of YaRN; --target llama.cpp searches those"
                                         : "none of those that are searched; the plug-in runs them";
  note("{}\n",
       wrap(fmt::format("This searches any table. From this file llama.cpp reads {}.", reads), terminal().width, 0));
}

int run_tune(TuneCommand command, const std::vector<std::string>& words) {
  const Result<ModelFile> file = open_model(command.eval.model, command.eval.trained);
  if (!file) return fail(file.error());
  const Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) return fail(Error{spec.error().code, to_string(spec.error()), command.eval.model});
  const Result<std::int64_t> target = parse_context(command.context);
  if (!target) return fail(Error{ErrorCode::invalid_argument, to_string(target.error()), "-c"});
  Result<eval::TuneOptions> options = eval::tune_defaults(*spec, *target);
  if (!options) return fail(Error{options.error().code, options.error().message, "-c"});
  Result<tune::SpaceOptions> space = space_for(command.target, *file, *spec, *target);
  if (!space) return fail(space.error());
  note_what_fits(command, *file, *spec, *target);
  options->space = *space;
  options->minutes = command.minutes;
  options->token_budget = command.tokens;
  options->seed = command.seed;
  for (const tune::Prefer prefer : {tune::Prefer::long_texts, tune::Prefer::balanced, tune::Prefer::short_texts}) {
    if (command.prefer == tune::to_string(prefer)) options->prefer = prefer;
  }
  if (!command.tasks.empty()) {
    Result<std::vector<const eval::Task*>> tasks = tasks_of(command.tasks);
    if (!tasks) return fail(tasks.error());
    options->tasks = *std::move(tasks);
  }

  // Of folders that nobody named none may lead elsewhere
  if (!command.named) {
    if (const auto ok = base::check_no_links(".", command.eval.output); !ok) return fail(ok.error());
  }
  if (const auto ok = base::check_no_links(command.eval.output, "search"); !ok) return fail(ok.error());
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
  const TuneResult result{.tuned = *tuned,
                          .options = *options,
                          .model = command.eval.model,
                          .trained = command.eval.trained,
                          .texts = command.eval.texts,
                          .model_hash = session->run.info().model_hash,
                          .folder = command.eval.output,
                          .built_in_texts = texts->built_in};
  const std::string document = tune_json(result);
  if (const auto ok = keep(command.eval.output + "/plan.json", to_json(tuned->plan), kPlanSchema); !ok)
    return fail(ok.error());
  if (const auto ok = keep(command.eval.output + "/tune.json", document, tune::kTuneSchema); !ok)
    return fail(ok.error());
  if (command.eval.json) print("{}", document);
  else print_tuned(result, *file);
  return 0;
}

}  // namespace

void add_tune(CLI::App& program, Action& action, const std::vector<std::string>& words) {
  auto tune = std::make_shared<TuneCommand>();
  tune->eval.output = "tuned";
  CLI::App* command =
      program.add_subcommand("tune",
                             "the best plan for this model, found by measuring\n"
                             "\n"
                             "  mrrope tune Llama-3.1-8B.gguf -c 256k -f 'texts/*' -o tuned\n"
                             "  mrrope extend Llama-3.1-8B.gguf --plan tuned/plan.json -o longer.gguf\n");
  command->add_option("model", tune->eval.model, "a .gguf; it is not changed")->required()->type_name("FILE");
  command->add_option("-c,--ctx-size", tune->context, "the length wanted: 32k")->required()->type_name("N");
  add_trained(*command, tune->eval.trained);
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
  command->callback([tune, command, &action, words] {
    tune->named = command->count("--output") > 0;
    action = [tune, words] { return run_tune(*tune, words); };
  });
}

}  // namespace mrrope::cli

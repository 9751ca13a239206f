// SPDX-License-Identifier: MIT
//
// mrrope extend: writes a plan into a model. Shows every change, verifies by reading back.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/extend.h"
#include "cli/input.h"
#include "cli/memory.h"
#include "cli/next.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

struct Options {
  ModelOptions model;
  std::string method;
  std::string plan;  // a plan file instead of -c and --method
  ExtendOptions extend;
  bool undo = false;
  bool json = false;
};

// Chosen by --method, or recommended.
Result<Plan> wanted_plan(const Options& options, const ModelFile& file, const RopeSpec& spec) {
  Model model{.spec = spec, .context_target = 0, .plan = std::nullopt, .source = options.model.file};
  const Result<std::int64_t> target = target_of(options.model, model);
  if (!target) return target.error();
  std::optional<Method> method;
  if (!options.method.empty()) {
    const Result<Method> parsed = parse_method(options.method);
    if (!parsed) return Error{parsed.error().code, to_string(parsed.error()), "--method"};
    method = *parsed;
  }
  Result<Plan> plan = method ? make_plan(spec, *target, *method) : recommend(file, *target);
  if (!plan) return Error{plan.error().code, to_string(plan.error()), method ? "--method" : "-c"};
  plan->source = options.model.file;
  return plan;
}

// What will be written: a plan of the user's, or the nearest to the recommended one that the engine runs. What it
// cannot run at all is for extend_model() to say.
Result<Choice> choice_of(const Options& options, const ModelFile& file, const RopeSpec& spec) {
  Result<Plan> plan = options.plan.empty() ? wanted_plan(options, file, spec) : plan_of_file(options.plan);
  if (!plan) return plan.error();
  Choice as_it_is{.plan = *plan, .wanted = *plan, .words = brief(plan->method), .why = {}};
  if (!options.plan.empty() || !options.method.empty() || was_extended(file)) return as_it_is;
  Result<Choice> choice = choose(file, *plan, options.extend.engine, {.relabel = options.extend.relabel});
  return choice ? *std::move(choice) : as_it_is;
}

// How much is copied, how fast, and how long it will take.
std::function<bool(std::uint64_t, std::uint64_t)> progress_line() {
  const auto start = std::chrono::steady_clock::now();
  return [start](std::uint64_t done, std::uint64_t total) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    const double left = share > 0 ? seconds * (1 - share) / share : 0;
    const double speed = seconds > 0 ? static_cast<double>(done) / seconds / 1e6 : 0;
    show_progress(done < total ? fmt::format("{:5.1f} %  {:.0f} MB/s  {:.0f} s left", 100 * share, speed, left) : "");
    return true;
  };
}

// The plan is read, and must not be what is written.
Result<void> check_inputs(const Options& options) {
  std::error_code status;
  if (options.plan.empty() || options.extend.output.empty() ||
      !std::filesystem::equivalent(base::to_path(options.plan), base::to_path(options.extend.output), status)) {
    return {};
  }
  return Error{ErrorCode::invalid_argument, "this is the plan itself, not a place for a copy", options.extend.output};
}

// In the words of the command line.
Error in_words(Error error, const Options& options, bool gguf) {
  if (error.where == "plan") error.where = options.plan.empty() ? "-c" : options.plan;
  if (error.option == "any_factor") error.option.clear();  // there is no such flag
  const bool nowhere = gguf && options.extend.output.empty();
  if (error.option == "output" && nowhere) {
    error.message = "where to? -o FILE writes a copy, --in-place changes the file itself";
    if (!options.undo) error.message += ", --sidecar leaves it alone";
  }
  return error;
}

// What to type instead; the library knows no flags.
std::string hint_for(const Error& error, const Options& options, const ModelFile& model,
                     const std::optional<Plan>& plan) {
  const bool gguf = model.gguf() != nullptr;
  if (error.option == "any_factor") return "--force writes it all the same";
  if (!options.undo && was_extended(model)) {
    return fmt::format("mrrope extend {} --undo{}", base::shell_quoted(options.model.file),
                       gguf && !model.sidecar ? " -o FILE" : "");
  }
  if (plan && error.code == ErrorCode::unsupported && error.option.empty()) {
    const Outlook outlook = outlook_of(model, *plan,
                                       {.file = options.model.file,
                                        .trained = options.model.trained,
                                        .method = spell(plan->method),
                                        .engine = options.extend.engine},
                                       {.relabel = options.extend.relabel});
    if (outlook.steps.empty()) return "";
    if (outlook.choice || outlook.steps.size() == 1) return outlook.steps.front().command;
    std::string typed;
    if (!options.model.trained.empty()) typed += " --trained " + base::shell_quoted(options.model.trained);
    if (!options.method.empty()) typed += " --method " + base::shell_quoted(options.method);
    return fmt::format("mrrope plan {} -c {}{} prints the commands of the plug-in, which runs it",
                       base::shell_quoted(options.model.file), format_context(plan->context_target), typed);
  }
  std::error_code status;
  if (gguf) {
    const bool in_the_way = error.code == ErrorCode::invalid_argument &&
                            std::filesystem::is_regular_file(base::to_path(error.where), status) &&
                            !std::filesystem::equivalent(base::to_path(error.where), base::to_path(model.path), status);
    return in_the_way && !options.extend.overwrite ? "-f replaces it" : "";
  }
  if (error.where == options.extend.output && std::filesystem::exists(base::to_path(error.where), status)) {
    return "-o another folder, or delete this one";
  }
  return "";
}

// Whether --undo wants no more than that an interrupted change was undone.
bool is_all_of_undo(const Options& options, const ModelFile& model) {
  const bool nowhere = options.extend.output.empty() && !options.extend.in_place;
  return options.undo && (nowhere || (options.extend.in_place && !was_extended(model)));
}

int run_extend(const Options& options) {
  if (const auto ok = check_inputs(options); !ok) return fail(ok.error());
  // A change in place that was interrupted comes first. A dry run leaves it: read_model() then says what to type
  Result<bool> recovered = false;
  if (!options.extend.dry_run) recovered = recover_gguf(options.model.file);
  if (!recovered) return fail(recovered.error());
  if (*recovered) note("{}: an interrupted change was undone\n", options.model.file);

  const Result<ModelFile> file = open_model(options.model.file, options.model.trained);
  if (!file) return fail(file.error());
  ExtendOutcome outcome{.extension = {},
                        .plan = std::nullopt,
                        .words = {},
                        .choice = {},
                        .cache_bytes = 0,
                        .gguf = file->gguf() != nullptr,
                        .dry_run = options.extend.dry_run,
                        .second_folder = !options.extend.output.empty()};
  if (*recovered && is_all_of_undo(options, *file)) {
    outcome.extension.written = outcome.extension.model = options.model.file;
    print_extension(outcome, options.json);
    return 0;
  }
  if (!options.undo) {
    const Result<RopeSpec> spec = rope_spec(*file);
    if (!spec) {
      return fail({spec.error().code, to_string(spec.error()), options.model.file},
                  serve_command(*file, spec.error(), options.model.file));
    }
    Result<Choice> choice = choice_of(options, *file, *spec);
    if (!choice) return fail(choice.error());
    outcome.choice = explain_choice(*file, *choice);
    outcome.words = choice->words;
    outcome.plan = std::move(choice->plan);
    outcome.cache_bytes = cache_bytes(*file, outcome.plan->context_target);
  }
  ExtendOptions how = options.extend;
  how.any_factor = how.overwrite;  // one flag for "I know"
  how.progress = progress_line();
  Result<Extension> done = options.undo ? undo_extension(*file, how) : extend_model(*file, *outcome.plan, how);
  if (!done) {
    return fail(in_words(done.error(), options, outcome.gguf), hint_for(done.error(), options, *file, outcome.plan));
  }
  outcome.extension = *std::move(done);
  print_extension(outcome, options.json);
  return 0;
}

}  // namespace

void add_extend(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("extend",
                                             "write a longer context into a model\n"
                                             "\n"
                                             "  mrrope extend Llama-3.1-8B.gguf -c 256k -o longer.gguf\n"
                                             "  mrrope extend Mistral-7B-v0.3.gguf -c 64k --sidecar\n"
                                             "  mrrope extend Llama-3-8B/ -c 32k --target vllm\n"
                                             "  mrrope extend longer.gguf --undo -o back.gguf\n");
  command
      ->add_option("MODEL", options->model.file,
                   "a .gguf (also the first of several shards), a Hugging\nFace folder or its config.json")
      ->required();
  auto* context =
      command->add_option("-c,--ctx-size", options->model.context, "the length wanted: 32768, 32k, 1M tokens");
  context->type_name("N");
  auto* factor = command->add_option("--factor", options->model.factor, "the same as a multiple of the trained length");
  factor->type_name("S");
  auto* method =
      command->add_option("--method", options->method,
                          "see mrrope methods (default: the recommended one, or the\nnearest that the engine runs)");
  method->type_name("METHOD");
  auto* trained = add_trained(*command, options->model.trained);
  auto* plan = command->add_option(
      "--plan", options->plan,
      "a plan file (mrrope plan --json) or the folder of\nmrrope tune, instead of -c, --factor and --method");
  plan->type_name("FILE")->excludes(context)->excludes(factor)->excludes(method);
  auto* target = command->add_option(
      "--target", options->extend.engine,
      "write for one engine: vllm, sglang, … (docs/engines.md;\ndefault: as many as one file can serve)");
  target->type_name("ENGINE");
  auto* output = command->add_option(
      "-o,--output", options->extend.output,
      "the file to write; with --sidecar, its folder; for a\nHugging Face folder, a second one with links to the\n"
      "weights (default: its config.json is changed, the\noriginal stays beside it)");
  output->type_name("PATH");
  auto* copy =
      command->add_flag("--copy", options->extend.copy, "with -o FOLDER: copy the weights, do not link to them");
  copy->needs(output);
  auto* sidecar = command->add_flag("--sidecar", options->extend.sidecar,
                                    "leave the .gguf alone; write a small second shard and\na script that serves both");
  command->add_flag("--in-place", options->extend.in_place, "change the .gguf itself")
      ->excludes(output)
      ->excludes(sidecar);
  command->add_flag("--dry-run", options->extend.dry_run, "show the changes, write nothing");
  auto* undo = command->add_flag(
      "--undo", options->undo,
      "take an extension back (a .gguf: with -o or --in-place;\na sidecar: its files are removed), or a change in "
      "place\nthat was interrupted");
  auto* relabel =
      command->add_flag("--relabel", options->extend.relabel,
                        "allow another architecture name with the same graph\n(qwen2, qwen3; docs/gguf.md)");
  for (CLI::Option* forward : {context, factor, method, trained, plan, target, sidecar, relabel, copy})
    undo->excludes(forward);
  sidecar->excludes(copy);
  command->add_flag("-f,--force", options->extend.overwrite,
                    "overwrite an existing output; more than 64 times the\ntrained length; --in-place: also a file "
                    "with several\nnames, with a sidecar, or that others may have open");
  command->add_flag("--json", options->json, "what was done, as JSON");
  command->callback([options, &action] { action = [options] { return run_extend(*options); }; });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// mrrope ladder: several servings of one model, so that long prompts cost short ones nothing, and the files that deploy
// them.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ladder.h"
#include "cli/memory.h"
#include "cli/next.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/deploy.h"

namespace mrrope::cli {

namespace {

void print_rungs(const Ladder& ladder, const Deployment& deployment, const ModelFile& file) {
  TextTable table({"rung", "plan", "served", "tokens", "short drift", "cache (f16)"}, 3);
  double caches = 0;
  bool copies = false;
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    const ServedRung& served = deployment.rungs[i];
    caches += served.cache_bytes;
    copies = copies || served.serving == Serving::copy;
    table.add({rung.name, short_name(rung.plan.method), to_string(served.serving), std::to_string(rung.length),
               fmt::format("{:.3g}", exposure(rung.plan).short_drift_turns),
               served.cache_bytes > 0 ? size_text(served.cache_bytes) : "-"});
  }
  print("\n{}", table.text());
  print("{}\n", dim("  tokens: prompt and answer; short drift: turns that phases move from"));
  print("{}\n\n", dim("  training within the trained length"));
  for (const Rung& rung : ladder.rungs) print_fact(rung.name, rung.why);
  const auto weights = static_cast<double>(facts_of(file).bytes);
  if (file.gguf() != nullptr && weights > 0 && caches > 0) {
    print_fact("memory", fmt::format("{} of weights, {}, and {} for their caches", size_text(weights),
                                     copies ? "mapped once, and once more for each copy" : "mapped once for all rungs",
                                     size_text(caches)));
  }
}

// The first command, from where the person is.
std::string next_step(const LadderOptions& options, const Deployment& deployment) {
  if (options.output.empty() || options.dry_run) {
    std::string command = "mrrope ladder " + base::shell_quoted(options.model.file);
    if (!options.plans.empty()) {
      const std::vector<std::string_view> names(options.plans.begin(), options.plans.end());
      command += " --plans " + base::shell_quoted(base::join(names, ","));
    } else if (!options.rungs.empty()) {
      command += " --rungs " + base::shell_quoted(options.rungs);
    } else {
      command += options.model.context.empty() ? " --factor " + base::shell_quoted(options.model.factor)
                                               : " -c " + base::shell_quoted(options.model.context);
    }
    for (const std::string& run : options.runs) command += " --from " + base::shell_quoted(run);
    if (!options.method.empty()) command += " --method " + base::shell_quoted(options.method);
    if (!options.model.trained.empty()) command += " --trained " + base::shell_quoted(options.model.trained);
    if (!options.engine.empty()) command += " --target " + base::shell_quoted(options.engine);
    return command + " -o " + base::shell_quoted(options.output.empty() ? "deploy" : options.output);
  }
  return fmt::format("cd {} && {}", base::shell_quoted(options.output), deployment.commands.front());
}

void print_ladder(const LadderOptions& options, const Rungs& rungs, const Deployment& deployment, const ModelFile& file,
                  const WrittenDeployment& written) {
  const Ladder& ladder = rungs.ladder;
  const bool one = ladder.rungs.size() == 1;
  print_fact("model",
             fmt::format("{}, trained for {} tokens", deployment.name, ladder.rungs[0].plan.spec.context_trained));
  print_fact("ladder",
             one ? fmt::format("one rung: {} tokens cost short prompts nothing, and no ladder is needed",
                               ladder.rungs[0].length)
                 : fmt::format("{} rungs; each prompt on the lowest that holds it and its answer ({} tokens where "
                               "a request names none)",
                               ladder.rungs.size(), ladder.reserve));
  print_rungs(ladder, deployment, file);
  for (const std::string& note : rungs.notes) print_fact("engine", note);
  for (const std::string& note : deployment.notes) print_fact("note", note);
  if (options.dry_run && !options.output.empty()) print_fact("", "nothing was written (--dry-run); it would be");
  std::string_view label = options.dry_run ? "" : "wrote";
  for (const std::string& path : written.files) {
    print("{}{}\n", fact_label(label), base::to_text(base::to_path(options.output) / base::to_path(path)));
    label = "";
  }
  if (!written.left.empty()) {
    const std::vector<std::string_view> names(written.left.begin(), written.left.end());
    print_fact("left", "from the earlier ladder, and no longer used: " + base::join(names, ", "));
  }
  print("\n{}{}\n", fact_label("next"), next_step(options, deployment));
  if (!written.files.empty() && !options.dry_run) {
    print("{}\n", dim(fmt::format("          {} has all commands",
                                  base::to_text(base::to_path(options.output) / "README.md"))));
  }
}

int run_ladder(const LadderOptions& options) {
  const Result<ModelFile> file = open_model(options.model.file, options.model.trained);
  if (!file) return fail(file.error());
  const Result<RopeSpec> spec = rope_spec(*file);
  if (!spec) {
    return fail({spec.error().code, to_string(spec.error()), options.model.file},
                serve_command(*file, spec.error(), options.model.file));
  }
  if (was_extended(*file)) {
    return fail({ErrorCode::invalid_argument,
                 "mrrope extended this model; the first rung of a ladder is the model before", options.model.file},
                fmt::format("mrrope extend {} --undo", base::shell_quoted(options.model.file)));
  }
  const Result<Rungs> rungs = rungs_of(options, *file, *spec);
  if (!rungs) return fail(rungs.error());

  std::error_code status;
  const std::string folder =
      base::to_text(std::filesystem::absolute(base::to_path(options.output.empty() ? "deploy" : options.output), status)
                        .lexically_normal());
  const Result<Deployment> files = deployment(rungs->ladder, *file, {.folder = folder, .port = options.port});
  if (!files) return fail(files.error());
  WrittenDeployment written;
  if (!options.output.empty() && !options.dry_run) {
    Result<WrittenDeployment> done = write_deployment(*files, rungs->ladder, *file, folder);
    if (!done) return fail(done.error());
    written = *std::move(done);
  } else if (!options.output.empty()) {
    written.files.emplace_back("ladder.json");
    for (const DeployedFile& one : files->files) written.files.push_back(one.path);
  }
  if (options.json) {
    print("{}", to_json(rungs->ladder));
  } else {
    print_ladder(options, *rungs, *files, *file, written);
  }
  return 0;
}

}  // namespace

void add_ladder(CLI::App& program, Action& action) {
  auto options = std::make_shared<LadderOptions>();
  CLI::App* command = program.add_subcommand("ladder",
                                             "several servings of one model: short prompts lose no quality\n"
                                             "\n"
                                             "  mrrope ladder Mistral-7B-v0.3.gguf -c 128k -o deploy\n"
                                             "  mrrope ladder model.gguf --rungs 8k,16k,32k -o deploy\n"
                                             "  mrrope ladder Llama-3-8B/ -c 32k -o deploy\n"
                                             "  mrrope ladder model.gguf --plans tuned-16k,tuned-32k -o deploy\n");
  command
      ->add_option("MODEL", options->model.file,
                   "a .gguf (also the first of several shards), a Hugging\nFace folder or its config.json")
      ->required();
  auto* context =
      command->add_option("-c,--ctx-size", options->model.context,
                          "the longest prompt and answer: 32768, 32k, 1M tokens;\nrungs at 1, 2, 4, … times "
                          "the trained length");
  context->type_name("N");
  auto* factor = command->add_option("--factor", options->model.factor, "the same as a multiple of the trained length");
  factor->type_name("S");
  auto* rungs =
      command->add_option("--rungs", options->rungs,
                          "these lengths instead, ascending: 8k,16k,32k. The model\nas it is comes first in any case");
  rungs->type_name("LIST")->excludes(context)->excludes(factor);
  auto* plans = command->add_option("--plans", options->plans,
                                    "these plans instead: plan files (mrrope plan --json) or\nfolders of mrrope tune");
  plans->delimiter(',')->type_name("LIST")->excludes(context)->excludes(factor)->excludes(rungs);
  auto* method =
      command->add_option("--method", options->method,
                          "see mrrope methods (default: the recommended one, or the\nnearest that the engine runs)");
  method->type_name("METHOD")->excludes(plans);
  command
      ->add_option("--from", options->runs,
                   "runs of mrrope eval ppl: each rung's method, and the\nrungs, by what they measured")
      ->delimiter(',')
      ->type_name("RUNS")
      ->excludes(plans);
  add_trained(*command, options->model.trained);
  command
      ->add_option("--target", options->engine,
                   "plans that one engine runs (default: llama.cpp for a\n.gguf, vllm for a Hugging Face folder)")
      ->type_name("ENGINE");
  command
      ->add_option(
          "--reserve", options->reserve,
          "tokens kept for an answer whose length a request does\nnot name (default: an eighth of the first rung, "
          "at most\n1024)")
      ->type_name("N");
  command->add_option("-o,--output", options->output, "the folder to write; an earlier ladder in it is renewed")
      ->type_name("FOLDER");
  command->add_option("--port", options->port, "of the gateway; servers have the next ones (8080)")
      ->type_name("PORT")
      ->check(number_between(1, 65535 - static_cast<int>(kMaxRungs)));
  command->add_flag("--dry-run", options->dry_run, "show the rungs, write nothing");
  command->add_flag("--json", options->json, "the ladder file");
  command->callback([options, &action] { action = [options] { return run_ladder(*options); }; });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include "cli/eval/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/eval/commit.h"
#include "cli/eval/progress.h"
#include "cli/host.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "files/folders.h"
#include "mrrope/version.h"
#include "runs/run_files.h"

namespace mrrope::cli {

namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted = false;  // NOLINT: a signal handler knows nothing else
static_assert(std::atomic<bool>::is_always_lock_free);

void interrupt() {
  if (interrupted.exchange(true)) leave(130);
}

std::string now() {
  const auto time = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace

void add_eval_options(CLI::App& command, EvalOptions& options) {
  command.add_option("-m,--model", options.model, "a .gguf; it is not changed")->required()->type_name("FILE");
  command.add_option("-f,--file", options.texts, "texts: files, or patterns in quotes ('texts/*')")
      ->required()
      ->type_name("TEXT");
  add_plan_options(command, options, true);
  add_output_options(command, options);
  add_llama_options(command, options);
}

void add_plan_options(CLI::App& command, EvalOptions& options, bool factor_required) {
  command
      .add_option("--methods", options.methods,
                  "see mrrope methods; climb:METHOD grows with the text\n(default: "
                  "none,linear,ntk,yarn,yarn-rotations,\nmrrope-uni,mrrope-pro)")
      ->type_name("LIST");
  command.add_option("--factor", options.factors, "how many times the trained length: 4, or several: 2,4")
      ->required(factor_required)
      ->type_name("S");
  add_trained(command, options.trained);
}

void add_file_options(CLI::App& command, EvalOptions& options) {
  command
      .add_option("--plan", options.plans,
                  "a plan file, or the folder of mrrope tune, as one more\nrow; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--ladder", options.ladder,
                  "a ladder of mrrope ladder, as one more row: each text\nunder the rung that it needs")
      ->type_name("FILE");
}

void add_cache_option(CLI::App& command, EvalOptions& options) {
  command
      .add_option("--cache-types", options.cache_types,
                  "each plan with each of these types of cache, compared\nlike plans: f16,q8_0,q4_0")
      ->delimiter(',')
      ->type_name("LIST")
      ->group("As in llama.cpp");
}

void add_output_options(CLI::App& command, EvalOptions& options) {
  command
      .add_option("-o,--output", options.output,
                  "a folder for the records; run again to continue or to\nadd to it (default: nothing is kept)")
      ->type_name("FOLDER");
  command.add_flag("--json", options.json, "the results as JSON");
}

void add_llama_options(CLI::App& command, EvalOptions& options) {
  const auto group = [](CLI::Option* option) { option->group("As in llama.cpp"); };
  ContextOptions& c = options.context;
  LlamaModelOptions& m = options.load;
  group(command.add_option("--llama", options.llama_folder, "another llama.cpp, for a GPU (MRROPE_LLAMA_DIR)")
            ->type_name("DIR"));  // use_named_llama() has read it
  group(command.add_option("-t,--threads", c.threads, "default: one per processor")->type_name("N"));
  group(command.add_option("--ubatch-size", c.ubatch_size, "-ub: tokens computed at once (512)")->type_name("N"));
  group(command.add_option("--flash-attn", c.flash_attn, "-fa: on, off, auto")->type_name("WHEN"));
  group(command.add_option("--cache-type-k", c.cache_type_k, "-ctk: f32, f16, bf16, q8_0, …")->type_name("TYPE"));
  group(command.add_option("--cache-type-v", c.cache_type_v, "-ctv: the same for values")->type_name("TYPE"));
  group(command.add_option("--n-gpu-layers", m.n_gpu_layers, "-ngl: layers on the GPU (all)")->type_name("N"));
  group(command.add_option("--rpc", m.rpc, "servers that share the layers: host:port,…")
            ->delimiter(',')
            ->type_name("LIST"));
  group(command.add_option("--tensor-split", m.tensor_split, "-ts: shares of the devices")
            ->delimiter(',')
            ->type_name("LIST"));
}

Result<std::vector<std::int64_t>> parse_lengths(const std::string& text, const std::string& flag) {
  std::vector<std::int64_t> lengths;
  for (const std::string_view part : base::split(text, ',')) {
    const Result<std::int64_t> length = part == "0" ? Result<std::int64_t>(0) : parse_context(part);
    if (!length) return Error{ErrorCode::invalid_argument, to_string(length.error()), flag};
    lengths.push_back(*length);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

Result<OpenRun> open_run(const EvalOptions& options, eval::RunInfo info) {
  info.version = *commit() == '\0' ? MRROPE_VERSION : fmt::format("{} ({})", MRROPE_VERSION, commit());
  info.machine = machine_name();
  if (info.task == "ruler" || info.task == "infinitebench" || info.task == "longbench2") {
    info.settings.emplace(eval::kDrawnSetting, eval::kDrawnBySeed);
  }
  info.started = now();
  std::string folder = options.output;
  std::shared_ptr<void> temporary;
  if (folder.empty()) {
    std::error_code none;
    const fs::path place = fs::temp_directory_path(none);
    if (none) return Error{ErrorCode::io, "there is no folder for temporary files; name one for the run", "-o"};
    const Result<std::string> made = base::make_unique_folder(base::to_text(place / "mrrope"));
    if (!made) return made.error();
    folder = *made;
    temporary = std::shared_ptr<void>(nullptr, [folder](void*) {
      std::error_code ignored;
      fs::remove_all(base::to_path(folder), ignored);
    });
  }
  Result<eval::RunFolder> run = eval::RunFolder::open(folder, info);
  if (!run) return run.error();
  if (run->was_torn()) note("the last line of {}/records.jsonl was damaged; it is measured again\n", folder);
  return OpenRun{*std::move(run), std::move(temporary)};
}

const std::atomic<bool>* cancel_on_signals() {
  on_interrupt(interrupt);
  return &interrupted;
}

eval::Control make_control(const eval::RunFolder& run) {
  eval::Control control{.progress = nullptr, .cancel = cancel_on_signals()};
  ProgressClock clock(ProgressClock::Clock::now());
  control.progress = [clock, &run, best = BestSoFar(), seen = std::size_t{0}](const eval::Progress& p) mutable {
    for (; seen < run.records().size(); ++seen) best.add(run.records()[seen]);
    const double seconds = clock.seconds(p.tokens, ProgressClock::Clock::now());
    show_progress(p.tokens < p.tokens_total ? progress_line(p, seconds, best.text(), terminal().width) : "");
  };
  return control;
}

int ended(const Error& error, const EvalOptions& options) {
  if (error.code != ErrorCode::cancelled) return fail(error);
  show_progress("");
  print_error("interrupted", options.output.empty() ? "with -o FOLDER what was measured would be kept"
                                                    : "the same command goes on where it stopped");
  return 130;
}

base::Json report_head(const eval::RunInfo& info) {
  return base::Json{{"schema", "mrrope.eval/1"},     {"task", info.task},     {"model", info.model},
                    {"model_hash", info.model_hash}, {"engine", info.engine}, {"version", info.version},
                    {"results", base::Json::array()}};
}

void print_next(const EvalOptions& options) {
  if (options.output.empty()) return;
  print("next      mrrope compare {0}\n          mrrope report {0} -o page.html\n", base::shell_quoted(options.output));
}

}  // namespace mrrope::cli

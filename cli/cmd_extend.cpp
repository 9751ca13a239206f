// SPDX-License-Identifier: MIT
//
// mrrope extend: writes a plan into a model file. Shows every change first, verifies by reading back.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "mrrope/mrrope.h"

namespace mrrope::cli {

namespace {

struct Options {
  ModelOptions model;
  std::string method;
  std::string output;
  bool sidecar = false;
  bool in_place = false;
  bool dry_run = false;
  bool undo = false;
  bool force = false;
  bool relabel = false;
};

// What is in the way of the plan arriving in the file: float32 factors, and nothing else.
constexpr double kVerified = 1e-6;

void print_edits(const GgufModel& model, const GgufEdits& edits) {
  TextTable table({"key or tensor", "before", "after"}, 3);
  if (edits.architecture) table.add({"general.architecture", model.architecture(), *edits.architecture});
  for (const GgufEdits::Change& change : edits.changes) {
    std::string old_key = change.key;
    if (edits.architecture && old_key.starts_with(*edits.architecture + ".")) {
      old_key = model.architecture() + old_key.substr(edits.architecture->size());
    }
    const GgufValue* old = model.head().find(old_key);
    const bool long_text = change.key.starts_with("mrrope.");
    table.add({change.key, old != nullptr ? old->display() : "-",
               !change.value ? "removed"
               : long_text   ? fmt::format("({} bytes)", change.value->bytes().size())
                             : change.value->display()});
  }
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    table.add(
        {tensor.name, model.find_tensor(tensor.name) != nullptr ? "F32 (replaced)" : "-",
         fmt::format("F32 [{}], {:g} .. {:g}", tensor.values.size(), tensor.values.front(), tensor.values.back())});
  }
  for (const std::string& name : edits.removed_tensors) table.add({name, "F32", "removed"});
  fmt::print("{}", table.text());
}

// A line that rewrites itself on a terminal, nothing anywhere else.
std::function<bool(std::uint64_t, std::uint64_t)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start](std::uint64_t done, std::uint64_t total) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    const double left = share > 0 ? seconds * (1 - share) / share : 0;
    fmt::print(stderr, "\r{:5.1f} %  {:.0f} MB/s  {:.0f} s left ", 100 * share,
               seconds > 0 ? static_cast<double>(done) / seconds / 1e6 : 0, left);
    if (done >= total) fmt::print(stderr, "\r{:40}\r", "");
    return true;
  };
}

// Reads the written file and asks what llama.cpp will do with it.
int verify(const std::string& path, const Plan& plan) {
  const Result<ModelFile> written = read_model(path);
  if (!written) return fail(written.error());
  const Result<Effective> now = effective("llama.cpp", *written, plan.context_target);
  if (!now) return fail(now.error());
  double difference = now->loads ? 0 : 1;
  for (std::size_t g = 0; g < plan.groups.size() && g < now->groups.size(); ++g) {
    difference = std::max(difference, table_difference(now->groups[g].inv_freq, plan.groups[g].inv_freq));
  }
  if (difference > kVerified) {
    print_error(fmt::format("read back, {} differs from the plan by {:.2g}", path, difference));
    return 1;
  }
  fmt::print("verified  read back; largest difference of an angular speed to the plan {:.1g}\n", difference);
  return 0;
}

std::string replaced(std::string text, const std::string& path) {
  const std::size_t at = text.find("{}");
  if (at != std::string::npos) text.replace(at, 2, path);
  return text;
}

void print_end(const Delivery& delivery, const std::string& path) {
  for (const std::string& note : delivery.notes) fmt::print("note      {}\n", wrap(note, 70, 10));
  for (const std::string& command : delivery.commands) fmt::print("run       {}\n", replaced(command, path));
}

// An untouched model as "shard 1 of 2", the tensors as shard 2, the keys as --override-kv.
int write_sidecar(const Options& options, const ModelFile& model, const Plan& plan, const Delivery& delivery) {
  namespace fs = std::filesystem;
  const GgufModel& gguf = *model.gguf();
  if (gguf.shards.size() > 1 || delivery.gguf.architecture || delivery.gguf.tensors.empty()) {
    return fail({ErrorCode::unsupported,
                 "a sidecar fits a single file whose architecture stays and that only gains tensors; use a copy",
                 "--sidecar"});
  }
  for (const auto& tensor : delivery.gguf.tensors) {
    if (gguf.find_tensor(tensor.name) != nullptr) {
      return fail(
          {ErrorCode::unsupported, "the file already has " + tensor.name + "; use --in-place or a copy", "--sidecar"});
    }
  }
  const fs::path source = fs::absolute(options.model.file);
  const fs::path folder =
      options.output.empty() ? source.parent_path() / (source.stem().string() + "-mrrope") : fs::path(options.output);
  const fs::path first = folder / (source.stem().string() + "-00001-of-00002.gguf");
  const fs::path second = folder / (source.stem().string() + "-00002-of-00002.gguf");
  std::string overrides = fmt::format("split.count=int:2,split.no=int:0,split.tensors.count=int:{}",
                                      gguf.head().tensors.size() + delivery.gguf.tensors.size());
  for (const auto& change : delivery.gguf.changes) {
    if (!change.value) continue;
    const double number = change.value->number().value_or(0);
    if (const auto text = change.value->text()) {
      overrides += fmt::format(",{}=str:{}", change.key, *text);
    } else if (change.value->type() == GgufType::f32) {
      overrides += fmt::format(",{}=float:{}", change.key, format_number(number));
    } else {
      overrides += fmt::format(",{}=int:{:.0f}", change.key, number);
    }
  }
  if (!options.dry_run) {
    std::error_code status;
    fs::create_directories(folder, status);
    if (status) return fail({ErrorCode::io, status.message(), folder.string()});
    if (auto error = write_gguf_sidecar(delivery.gguf.tensors, second.string(), {.overwrite = options.force}))
      return fail(*error);
    if (options.force) fs::remove(first, status);
    fs::create_symlink(source, first, status);
    if (status) return fail({ErrorCode::io, status.message(), first.string()});
  }
  fmt::print("{} {}\n", options.dry_run ? "would write" : "wrote", second.string());
  for (const std::string& note : delivery.notes) fmt::print("note      {}\n", wrap(note, 70, 10));
  fmt::print("run       llama-server -m {} -c {} --override-kv {}\n", first.string(), plan.context_target, overrides);
  return 0;
}

int run_undo(const Options& options) {
  const Result<ModelFile> model = read_model(options.model.file);
  if (!model) return fail(model.error());
  if (model->gguf() == nullptr) {
    return fail({ErrorCode::unsupported, "only a GGUF carries its own undo", options.model.file});
  }
  const Result<GgufEdits> edits = undo_edits(*model->gguf());
  if (!edits) return fail(edits.error());
  print_edits(*model->gguf(), *edits);
  if (options.dry_run) return 0;
  if (options.in_place) {
    if (auto error = edit_gguf_in_place(*model->gguf(), *edits)) return fail(*error);
    fmt::print("restored  {}\n", options.model.file);
    return 0;
  }
  if (options.output.empty()) {
    return fail({ErrorCode::invalid_argument, "where to? -o FILE for a copy, --in-place for the file itself", "-o"});
  }
  if (auto error = write_gguf(*model->gguf(), *edits, options.output,
                              {.overwrite = options.force, .progress = progress_line()})) {
    return fail(*error);
  }
  fmt::print("wrote     {}\n", options.output);
  return 0;
}

int run_extend(const Options& options) {
  // A change in place that was interrupted comes first
  const Result<bool> recovered = recover_gguf(options.model.file);
  if (!recovered) return fail(recovered.error());
  if (*recovered) fmt::print(stderr, "{}: an interrupted change was taken back\n", options.model.file);
  if (options.undo) return run_undo(options);

  const Result<ModelFile> file = read_model(options.model.file);
  if (!file) return fail(file.error());
  if (file->gguf() == nullptr) {
    return fail({ErrorCode::unsupported, "writing config.json is not there yet; mrrope plan shows the plan",
                 options.model.file});
  }
  const Result<Model> model = load_model(options.model);
  if (!model) return fail(model.error());
  std::optional<Method> method;
  if (!options.method.empty()) {
    const Result<Method> parsed = parse_method(options.method);
    if (!parsed) return fail({parsed.error().code, to_string(parsed.error()), "--method"});
    method = *parsed;
  }
  Result<Plan> plan =
      method ? make_plan(model->spec, model->context_target, *method) : recommend(model->spec, model->context_target);
  if (!plan) return fail({plan.error().code, to_string(plan.error()), method ? "--method" : "-c"});
  plan->source = model->source;
  if (plan->factor <= 1 && !method) {
    return fail({ErrorCode::invalid_argument,
                 fmt::format("the model already reaches {} tokens; there is nothing to extend", plan->context_target),
                 "-c"});
  }

  const Result<Delivery> delivery = deliver("llama.cpp", *plan, *file, {.relabel = options.relabel});
  if (!delivery) return fail(delivery.error());
  fmt::print("plan      {}, factor {:.6g}: {} -> {} tokens\n", spell(plan->method), plan->factor,
             plan->spec.context_trained, plan->context_target);
  if (options.sidecar) return write_sidecar(options, *file, *plan, *delivery);
  const Result<GgufEdits> edits = with_provenance(delivery->gguf, *file->gguf(), *plan);
  if (!edits) return fail(edits.error());
  print_edits(*file->gguf(), *edits);
  if (options.dry_run) {
    fmt::print("nothing was written (--dry-run)\n");
    return 0;
  }
  if (options.in_place == !options.output.empty()) {
    return fail({ErrorCode::invalid_argument,
                 "where to? -o FILE for a copy, --in-place for the file itself, or --sidecar", "-o"});
  }
  if (options.in_place) {
    if (auto error = edit_gguf_in_place(*file->gguf(), *edits)) return fail(*error);
  } else if (auto error = write_gguf(*file->gguf(), *edits, options.output,
                                     {.overwrite = options.force, .progress = progress_line()})) {
    return fail(*error);
  }
  const std::string& written = options.in_place ? options.model.file : options.output;
  fmt::print("wrote     {}\n", written);
  if (const int status = verify(written, *plan)) return status;
  print_end(*delivery, written);
  return 0;
}

}  // namespace

void add_extend(CLI::App& program, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("extend",
                                             "write a longer context into a model file\n"
                                             "\n"
                                             "  mrrope extend model.gguf -c 32k -o longer.gguf\n"
                                             "  mrrope extend model.gguf -c 32k --sidecar\n"
                                             "  mrrope extend longer.gguf --undo -o back.gguf\n");
  command->add_option("MODEL", options->model.file, "a .gguf (also the first of several shards)")->required();
  command->add_option("-c,--ctx-size", options->model.context, "the length wanted: 32768, 32k, 1M tokens")
      ->type_name("N");
  command->add_option("--factor", options->model.factor, "the same as a multiple of the trained length")
      ->type_name("S");
  command->add_option("--method", options->method, "see mrrope methods (default: the recommended one)")
      ->type_name("METHOD");
  command->add_option("-o,--output", options->output, "the file to write; with --sidecar, the folder")
      ->type_name("FILE");
  command->add_flag("--sidecar", options->sidecar, "leave the model alone; write a small second shard");
  command->add_flag("--in-place", options->in_place, "change the file itself");
  command->add_flag("--dry-run", options->dry_run, "show the changes, write nothing");
  command->add_flag("--undo", options->undo, "take an extension back (with -o or --in-place)");
  command->add_flag("--relabel", options->relabel,
                    "allow another architecture name with the same graph\n(qwen2, qwen3; docs/gguf.md)");
  command->add_flag("-f,--force", options->force, "overwrite an existing output");
  command->callback([options, &action] { action = [options] { return run_extend(*options); }; });
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
//
// A plan into a .gguf: a copy, a sidecar beside the untouched file, or the file itself.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "cli/commands.h"
#include "cli/extend.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

std::vector<ExtendReport::Change> rows_of(const GgufModel& model, const GgufEdits& edits) {
  std::vector<ExtendReport::Change> rows;
  if (edits.architecture) rows.push_back({"general.architecture", model.architecture(), *edits.architecture});
  for (const GgufEdits::Change& change : edits.changes) {
    std::string old_key = change.key;
    if (edits.architecture && old_key.starts_with(*edits.architecture + ".")) {
      old_key = model.architecture() + old_key.substr(edits.architecture->size());
    }
    const GgufValue* old = model.head().find(old_key);
    const bool long_text = change.key.starts_with("mrrope.");
    const auto shown = [&](const GgufValue& value) {
      return long_text ? fmt::format("({} bytes)", value.bytes().size()) : value.display();
    };
    rows.push_back({change.key, old != nullptr ? shown(*old) : "-", change.value ? shown(*change.value) : "removed"});
  }
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    const auto [low, high] = std::minmax_element(tensor.values.begin(), tensor.values.end());
    rows.push_back({tensor.name, model.find_tensor(tensor.name) != nullptr ? "F32 (replaced)" : "-",
                    fmt::format("F32 [{}], {:g} .. {:g}", tensor.values.size(), *low, *high)});
  }
  for (const std::string& name : edits.removed_tensors) rows.push_back({name, "F32", "removed"});
  return rows;
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

// The edited keys as one --override-kv; the file itself stays as it is.
std::string overrides_of(const GgufModel& model, const GgufEdits& edits) {
  std::string text = fmt::format("split.count=int:2,split.no=int:0,split.tensors.count=int:{}",
                                 model.head().tensors.size() + edits.tensors.size());
  for (const auto& change : edits.changes) {
    if (!change.value) continue;
    const double number = change.value->number().value_or(0);
    if (const auto string = change.value->text()) text += fmt::format(",{}=str:{}", change.key, *string);
    else if (change.value->type() == GgufType::f32)
      text += fmt::format(",{}=float:{}", change.key, format_number(number));
    else text += fmt::format(",{}=int:{:.0f}", change.key, number);
  }
  return text;
}

// An untouched model as "shard 1 of 2", the tensors as shard 2.
int write_sidecar(const ExtendOptions& options, const GgufModel& gguf, const Plan& plan, const Delivery& delivery,
                  ExtendReport& report) {
  namespace fs = std::filesystem;
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
  report.changes(rows_of(gguf, delivery.gguf));
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
  report.wrote(second.string(), options.dry_run);
  report.end(delivery.notes,
             {fmt::format("llama-server -m {{}} -c {} --override-kv {}", plan.context_target,
                          overrides_of(gguf, delivery.gguf))},
             first.string());
  return 0;
}

// Writes `edits` where the options say. The file that was written, or nothing for --dry-run.
Result<std::string> write(const ExtendOptions& options, const GgufModel& model, const GgufEdits& edits) {
  if (options.in_place == !options.output.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "where to? -o FILE for a copy, --in-place for the file itself, or --sidecar", "-o"};
  }
  if (options.dry_run) return options.in_place ? options.model.file : options.output;
  if (options.in_place) {
    if (auto error = edit_gguf_in_place(model, edits)) return *error;
    return options.model.file;
  }
  if (auto error =
          write_gguf(model, edits, options.output, {.overwrite = options.force, .progress = progress_line()})) {
    return *error;
  }
  return options.output;
}

}  // namespace

int extend_gguf(const ExtendOptions& options, const ModelFile& model, const Plan& plan) {
  const std::string engine = options.target.empty() ? "llama.cpp" : options.target;
  const Result<Delivery> delivery = deliver(engine, plan, model, {.relabel = options.relabel});
  if (!delivery) return fail(delivery.error());
  ExtendReport report(options.json);
  report.plan(plan, *delivery);
  if (options.sidecar) return write_sidecar(options, *model.gguf(), plan, *delivery, report);

  const Result<GgufEdits> edits = with_provenance(delivery->gguf, *model.gguf(), plan);
  if (!edits) return fail(edits.error());
  std::vector<ExtendReport::Change> rows = rows_of(*model.gguf(), *edits);
  rows.push_back({"mrrope.padding", "-", "(filler, if blocks need it)"});
  report.changes(std::move(rows));
  ExtendOptions where = options;
  if (options.dry_run && options.output.empty() && !options.in_place) where.output = "FILE of -o";
  const Result<std::string> written = write(where, *model.gguf(), *edits);
  if (!written) return fail(written.error());
  report.wrote(*written, options.dry_run);
  if (!options.dry_run) {
    const Result<double> difference = read_back(*written, "llama.cpp", plan);
    if (!difference) return fail(difference.error());
    report.verified(*difference);
  }
  report.end(delivery->notes, delivery->commands, *written);
  return 0;
}

int undo_gguf(const ExtendOptions& options, const ModelFile& model) {
  const Result<GgufEdits> edits = undo_edits(*model.gguf());
  if (!edits) return fail(edits.error());
  ExtendReport report(options.json);
  report.changes(rows_of(*model.gguf(), *edits));
  const Result<std::string> written = write(options, *model.gguf(), *edits);
  if (!written) return fail(written.error());
  report.wrote(*written, options.dry_run);
  report.end({}, {}, "");
  return 0;
}

}  // namespace mrrope::cli

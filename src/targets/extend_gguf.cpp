// SPDX-License-Identifier: MIT
//
// A plan into a .gguf: a copy, a sidecar beside the untouched file, or the file itself.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "formats/gguf_write.h"
#include "mrrope/provenance.h"
#include "mrrope/units.h"
#include "targets/extend_formats.h"

namespace mrrope::targets {

namespace {

std::vector<FieldChange> rows_of(const GgufModel& model, const GgufEdits& edits) {
  std::vector<FieldChange> rows;
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
    rows.push_back({change.key, old != nullptr ? shown(*old) : "", change.value ? shown(*change.value) : ""});
  }
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    const auto [low, high] = std::minmax_element(tensor.values.begin(), tensor.values.end());
    rows.push_back({tensor.name, model.find_tensor(tensor.name) != nullptr ? "F32 (replaced)" : "",
                    fmt::format("F32 [{}], {:g} .. {:g}", tensor.values.size(), *low, *high)});
  }
  for (const std::string& name : edits.removed_tensors) rows.push_back({name, "F32", ""});
  return rows;
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
Result<Extension> write_sidecar(const ModelFile& model, const Plan& plan, Delivery delivery,
                                const ExtendOptions& options) {
  namespace fs = std::filesystem;
  const GgufModel& gguf = *model.gguf();
  if (gguf.shards.size() > 1 || delivery.gguf.architecture || delivery.gguf.tensors.empty()) {
    return Error{ErrorCode::unsupported,
                 "a sidecar fits a single file whose architecture stays and that only gains tensors; use a copy",
                 "sidecar"};
  }
  for (const auto& tensor : delivery.gguf.tensors) {
    if (gguf.find_tensor(tensor.name) != nullptr) {
      return Error{ErrorCode::unsupported,
                   "the file already has " + tensor.name + "; change it in place, or write a copy", "sidecar"};
    }
  }
  std::error_code status;
  const fs::path source = fs::absolute(model.path, status);
  if (status) return Error{ErrorCode::io, status.message(), model.path};
  const fs::path folder =
      options.output.empty() ? source.parent_path() / (source.stem().string() + "-mrrope") : fs::path(options.output);
  const fs::path first = folder / (source.stem().string() + "-00001-of-00002.gguf");
  const fs::path second = folder / (source.stem().string() + "-00002-of-00002.gguf");
  if (!options.dry_run) {
    fs::create_directories(folder, status);
    if (status) return Error{ErrorCode::io, status.message(), folder.string()};
    if (auto error = write_gguf_sidecar(delivery.gguf.tensors, second.string(), {.overwrite = options.overwrite}))
      return *std::move(error);
    if (options.overwrite) fs::remove(first, status);
    fs::create_symlink(source, first, status);
    if (status) return Error{ErrorCode::io, status.message(), first.string()};
  }
  delivery.commands = {fmt::format("llama-server -m {{}} -c {} --override-kv {}", plan.context_target,
                                   overrides_of(gguf, delivery.gguf))};
  Extension out = described(delivery, plan, first.string());
  out.changes = rows_of(gguf, delivery.gguf);
  out.written = second.string();
  return out;
}

// Writes `edits` where the options say. The file that was written; empty for a dry run that does not say.
Result<std::string> write(const ModelFile& model, const GgufEdits& edits, const ExtendOptions& options) {
  const bool nowhere = options.output.empty() && !options.in_place;
  if (nowhere && options.dry_run) return std::string();
  if (nowhere || (options.in_place && !options.output.empty())) {
    return Error{ErrorCode::invalid_argument,
                 "where to? output names a copy, in_place changes the file itself, sidecar leaves it alone", "output"};
  }
  const std::string target = options.in_place ? model.path : options.output;
  if (options.dry_run) {
    if (options.in_place) return target;
    if (auto error = formats::check_target(*model.gguf(), target, options.overwrite)) return *std::move(error);
    return target;
  }
  auto error = options.in_place ? edit_gguf_in_place(*model.gguf(), edits)
                                : write_gguf(*model.gguf(), edits, target,
                                             {.overwrite = options.overwrite, .progress = options.progress});
  if (error) return *std::move(error);
  return target;
}

}  // namespace

Result<Extension> extend_gguf(const ModelFile& model, const Plan& plan, const ExtendOptions& options) {
  const std::string engine = options.engine.empty() ? "llama.cpp" : options.engine;
  const Result<Delivery> delivery = deliver(engine, plan, model, {.relabel = options.relabel});
  if (!delivery) return delivery.error();
  if (options.sidecar) return write_sidecar(model, plan, *delivery, options);

  const Result<GgufEdits> edits = with_provenance(delivery->gguf, *model.gguf(), plan);
  if (!edits) return edits.error();
  const Result<std::string> written = write(model, *edits, options);
  if (!written) return written.error();
  Extension out = described(*delivery, plan, *written);
  out.changes = rows_of(*model.gguf(), *edits);
  out.changes.push_back({"mrrope.padding", "", "(filler, if blocks need it)"});
  out.written = *written;
  if (options.dry_run) return out;
  const Result<double> difference = read_back(*written, "llama.cpp", plan);
  if (!difference) return difference.error();
  out.difference = *difference;
  return out;
}

Result<Extension> take_back_gguf(const ModelFile& model, const ExtendOptions& options) {
  const Result<GgufEdits> edits = undo_edits(*model.gguf());
  if (!edits) return edits.error();
  const Result<std::string> written = write(model, *edits, options);
  if (!written) return written.error();
  Extension out;
  out.changes = rows_of(*model.gguf(), *edits);
  out.written = out.model = *written;
  return out;
}

}  // namespace mrrope::targets

// SPDX-License-Identifier: MIT
//
// A plan into a .gguf: a copy, or the file itself; extend_sidecar.cpp has the third way.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "files/in_place.h"
#include "formats/gguf_in_place.h"
#include "formats/gguf_write.h"
#include "mrrope/provenance.h"
#include "targets/extend_formats.h"

namespace mrrope::targets {

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

namespace {

// The file that will be written, and that it may be; empty for a dry run that does not say.
Result<std::string> checked_target(const ModelFile& model, const ExtendOptions& options) {
  const bool nowhere = options.output.empty() && !options.in_place;
  if (nowhere && options.dry_run) return std::string();
  if (nowhere || (options.in_place && !options.output.empty())) {
    return Error{ErrorCode::invalid_argument,
                 "where to? output names a copy, in_place changes the file itself, sidecar leaves it alone", "",
                 "output"};
  }
  if (!options.in_place) {
    const auto ok = formats::check_target(*model.gguf(), options.output, options.overwrite);
    if (!ok) return ok.error();
    return options.output;
  }
  if (const auto ok = check_no_sidecar(model, options); !ok) return ok.error();
  if (const auto ok = formats::check_in_place(model.path, {.force = options.overwrite}); !ok) return ok.error();
  return model.path;
}

Result<void> write(const ModelFile& model, const GgufEdits& edits, const ExtendOptions& options) {
  if (options.in_place) return edit_gguf_in_place(*model.gguf(), edits, {.force = options.overwrite});
  return write_gguf(*model.gguf(), edits, options.output,
                    {.overwrite = options.overwrite, .progress = options.progress});
}

// What a change in place needs elsewhere than on Linux.
void note_second_file(const ModelFile& model, const ExtendOptions& options, Extension& out) {
  if (!options.in_place || base::can_shift_front()) return;
  out.notes.push_back(fmt::format(
      "In place means here: a new file of about {:.4g} GB is written beside the model and takes its name, so "
      "that the disk needs room for both.",
      static_cast<double>(model.gguf()->head().file_size) / 1e9));
}

// With the Modelfile that Ollama wants.
Result<void> write_for_ollama(const ModelFile& model, const GgufEdits& edits, const Plan& plan,
                              const std::string& target, const ExtendOptions& options) {
  Result<base::PendingFile> modelfile = prepare_modelfile(target, model.gguf()->shards.size(), plan);
  if (!modelfile) return modelfile.error();
  if (const auto ok = write(model, edits, options); !ok) return ok.error();
  return modelfile->commit();
}

}  // namespace

Result<Extension> extend_gguf(const ModelFile& model, const Plan& plan, const ExtendOptions& options) {
  const std::string engine = options.engine.empty() ? "llama.cpp" : options.engine;
  const Result<Delivery> delivery = deliver(engine, plan, model, {.relabel = options.relabel});
  if (!delivery) return delivery.error();
  if (options.sidecar) {
    if (engine == "llama.cpp") return write_sidecar(model, plan, *delivery, options);
    return Error{ErrorCode::unsupported,
                 "a sidecar needs flags that only llama.cpp's own programs have; write a copy for " + engine, "",
                 "sidecar"};
  }

  const Result<GgufEdits> edits = with_provenance(delivery->gguf, *model.gguf(), plan);
  if (!edits) return edits.error();
  const Result<std::string> target = checked_target(model, options);
  if (!target) return target.error();
  Extension out = described(model, *delivery, plan, *target);
  address_front_end(engine, plan, out);
  out.changes = rows_of(*model.gguf(), *edits);
  out.changes.push_back({"mrrope.padding", "", "(filler)"});
  out.written = *target;
  note_second_file(model, options, out);
  const bool modelfile = engine == "ollama" && !target->empty();
  if (modelfile) {
    if (const auto ok = check_modelfile(*target, model.gguf()->shards.size(), options.overwrite); !ok)
      return ok.error();
    out.beside = {modelfile_of(*target)};
  }
  if (options.dry_run) return out;
  const Result<void> written =
      modelfile ? write_for_ollama(model, *edits, plan, *target, options) : write(model, *edits, options);
  if (!written) return written.error();
  const Result<double> difference = read_back(*target, "llama.cpp", plan);
  if (!difference) return difference.error();
  out.difference = *difference;
  return out;
}

Result<Extension> undo_gguf(const ModelFile& model, const ExtendOptions& options) {
  const Result<GgufEdits> edits = undo_edits(*model.gguf());
  if (!edits) return edits.error();
  const Result<std::string> target = checked_target(model, options);
  if (!target) return target.error();
  Extension out;
  out.changes = rows_of(*model.gguf(), *edits);
  out.written = out.model = *target;
  note_second_file(model, options, out);
  if (options.dry_run) return out;
  if (const auto ok = write(model, *edits, options); !ok) return ok.error();
  return out;
}

}  // namespace mrrope::targets

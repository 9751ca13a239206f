// SPDX-License-Identifier: MIT
//
// A plan into a .gguf: a copy, or the file itself; extend_sidecar.cpp has the third way.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

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

// Writes `edits` where the options say. The file that was written; empty for a dry run that does not say.
Result<std::string> write(const ModelFile& model, const GgufEdits& edits, const ExtendOptions& options) {
  const bool nowhere = options.output.empty() && !options.in_place;
  if (nowhere && options.dry_run) return std::string();
  if (nowhere || (options.in_place && !options.output.empty())) {
    return Error{ErrorCode::invalid_argument,
                 "where to? output names a copy, in_place changes the file itself, sidecar leaves it alone", "",
                 "output"};
  }
  const std::string target = options.in_place ? model.path : options.output;
  const InPlaceOptions in_place{.force = options.overwrite};
  if (options.in_place) {
    if (const auto ok = check_no_sidecar(model, options); !ok) return ok.error();
    if (const auto ok = formats::check_in_place(target, in_place); !ok) return ok.error();
  }
  if (options.dry_run) {
    if (options.in_place) return target;
    if (const auto ok = formats::check_target(*model.gguf(), target, options.overwrite); !ok) return ok.error();
    return target;
  }
  const Result<void> written =
      options.in_place
          ? edit_gguf_in_place(*model.gguf(), edits, in_place)
          : write_gguf(*model.gguf(), edits, target, {.overwrite = options.overwrite, .progress = options.progress});
  if (!written) return written.error();
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

Result<Extension> undo_gguf(const ModelFile& model, const ExtendOptions& options) {
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

// SPDX-License-Identifier: MIT
//
// A plan into a Hugging Face folder: its config.json, or a second folder with links to the weights.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/extend.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

namespace fs = std::filesystem;
using base::Json;

std::string folder_of(const ModelFile& model) {
  const fs::path parent = fs::path(model.path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// A value on one line: long lists by their ends and length.
std::string shown(const Json& value) {
  if (!value.is_array() || value.size() <= 4) return value.dump();
  return fmt::format("[{} … {}] ({} numbers)", value.front().dump(), value.back().dump(), value.size());
}

// Objects field by field, so that a table of numbers takes one line.
std::vector<ExtendReport::Change> rows_of(const std::vector<HfChange>& changes, bool json) {
  std::vector<ExtendReport::Change> rows;
  for (const HfChange& change : changes) {
    if (json) {
      rows.push_back({change.path, change.before, change.after});
      continue;
    }
    const Result<Json> before = base::parse_json(change.before);
    const Result<Json> after = base::parse_json(change.after);
    const std::string old = !before ? "-" : before->is_object() ? "{…}" : shown(*before);
    if (!after || !after->is_object()) {
      rows.push_back({change.path, old, after ? shown(*after) : "removed"});
      continue;
    }
    rows.push_back({change.path, old, "{"});
    for (const auto& [name, value] : after->items()) rows.push_back({"  " + name, "", shown(value)});
  }
  return rows;
}

// Whom one file serves: three lists, the reasons are in doctor.
std::vector<std::string> service_notes(const std::vector<Service>& services, const std::string& folder) {
  std::vector<std::string_view> served;
  std::vector<std::string_view> own;
  std::vector<std::string_view> none;
  for (const Service& s : services)
    (s.served ? served : s.own_file ? own : none).push_back(s.served || !s.own_file ? s.title : s.engine);
  std::vector<std::string> notes;
  if (!served.empty()) notes.push_back(fmt::format("One file serves {}.", base::join(served)));
  if (!own.empty()) notes.push_back(fmt::format("Need a file of their own (--target): {}.", base::join(own)));
  if (!none.empty()) {
    notes.push_back(fmt::format("Cannot run this table: {}. mrrope doctor {} says why.", base::join(none), folder));
  }
  return notes;
}

std::optional<Error> wrong_flags(const ExtendOptions& options) {
  if (options.sidecar) {
    return Error{ErrorCode::invalid_argument,
                 "a sidecar belongs to a .gguf; -o FOLDER makes a second folder with links", "--sidecar"};
  }
  if (options.relabel) return Error{ErrorCode::invalid_argument, "only a .gguf is relabelled", "--relabel"};
  return std::nullopt;
}

}  // namespace

int extend_hf(const ExtendOptions& options, const ModelFile& model, const Plan& plan) {
  if (const auto error = wrong_flags(options)) return fail(*error);
  const std::string folder = folder_of(model);
  if (fs::exists(fs::path(folder) / kOriginalConfig)) {
    return fail({ErrorCode::inconsistent, "this folder was extended before; take that back first (--undo)", folder});
  }
  const std::string engine = options.target.empty() ? std::string(kUniversal) : options.target;
  const Result<Delivery> delivery = deliver(engine, plan, model);
  if (!delivery) return fail(delivery.error());
  ExtendReport report(options.json);
  report.plan(plan, *delivery);
  report.changes(rows_of(delivery->hf, options.json));

  HfConfig edited = *model.hf();
  if (const auto error = edited.apply(delivery->hf)) return fail(*error);
  const std::string target = options.output.empty() ? folder : options.output;
  if (!options.dry_run) {
    const auto error = options.output.empty() ? replace_config(folder, edited) : link_folder(folder, target, edited);
    if (error) return fail(*error);
  }
  report.wrote((fs::path(target) / "config.json").string(), options.dry_run);
  if (!options.dry_run) {
    const Result<double> difference =
        read_back(target, options.target.empty() ? "transformers5" : options.target, plan);
    if (!difference) return fail(difference.error());
    report.verified(*difference);
  }
  std::vector<std::string> notes = service_notes(delivery->services, target);
  notes.insert(notes.end(), delivery->notes.begin(), delivery->notes.end());
  if (options.output.empty()) {
    notes.push_back(fmt::format("The original stays beside it as {}; mrrope extend {} --undo takes this back.",
                                kOriginalConfig, folder));
  }
  report.end(notes, delivery->commands, target);
  return 0;
}

int undo_hf(const ExtendOptions& options, const ModelFile& model) {
  if (const auto error = wrong_flags(options)) return fail(*error);
  if (!options.output.empty()) {
    return fail(
        {ErrorCode::invalid_argument, "a folder is restored where it is; a second folder is simply deleted", "-o"});
  }
  const std::string folder = folder_of(model);
  if (!options.dry_run) {
    if (const auto error = restore_config(folder)) return fail(*error);
  }
  ExtendReport report(options.json);
  report.wrote((fs::path(folder) / "config.json").string(), options.dry_run);
  report.end({fmt::format("What was there is kept as {}.", kExtendedConfig)}, {}, folder);
  return 0;
}

}  // namespace mrrope::cli

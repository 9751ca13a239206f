// SPDX-License-Identifier: MIT
//
// A plan into a Hugging Face folder: its config.json, or a second folder with links to the weights.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "cli/commands.h"
#include "cli/extend.h"
#include "cli/terminal.h"

namespace mrrope::cli {

namespace {

namespace fs = std::filesystem;

// What transformers' float32 leaves of a table, and whole numbers of an attention scale (targets.h).
constexpr double kVerified = 1e-6;

std::string folder_of(const ModelFile& model) {
  const fs::path parent = fs::path(model.path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// A value on one line: long lists as their length and ends.
std::string shown(const std::string& json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t open = json.find('[', at);
    const std::size_t close = open == std::string::npos ? open : json.find(']', open);
    if (close == std::string::npos) return out + json.substr(at);
    const std::string list = json.substr(open, close - open + 1);
    out += json.substr(at, open - at);
    const auto count = std::count(list.begin(), list.end(), ',') + 1;
    out += list.size() <= 24 ? list
                             : fmt::format("[{}, … {} numbers …, {}]", list.substr(1, list.find(',') - 1), count - 2,
                                           list.substr(list.rfind(',') + 2, list.size() - list.rfind(',') - 3));
    at = close + 1;
  }
  return out.empty() ? "-" : out;
}

// Objects that are replaced as a whole are shown field by field where they hold several.
std::vector<ExtendReport::Change> rows_of(const std::vector<HfChange>& changes, bool whole) {
  std::vector<ExtendReport::Change> rows;
  for (const HfChange& change : changes) {
    const auto text = [&](const std::string& json) { return whole ? json : shown(json); };
    rows.push_back({change.path, change.before.empty() ? "-" : text(change.before),
                    change.after.empty() ? "removed" : text(change.after)});
  }
  return rows;
}

// Reads the written file and asks what the engine will do with it.
Result<double> difference_to(const Plan& plan, const std::string& path, const std::string& engine) {
  const Result<ModelFile> written = read_model(path);
  if (!written) return written.error();
  const Result<Effective> now = effective(engine, *written, plan.context_target);
  if (!now) return now.error();
  double difference = now->loads && now->groups.size() == plan.groups.size() ? 0 : 1;
  for (std::size_t g = 0; g < plan.groups.size() && g < now->groups.size(); ++g) {
    difference = std::max(difference, table_difference(now->groups[g].inv_freq, plan.groups[g].inv_freq));
  }
  if (difference > kVerified) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("read back, the file differs from the plan by {:.2g}", difference), path};
  }
  return difference;
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
        difference_to(plan, target, options.target.empty() ? "transformers5" : options.target);
    if (!difference) return fail(difference.error());
    report.verified(*difference);
  }
  std::vector<std::string> notes = delivery->notes;
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

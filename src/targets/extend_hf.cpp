// SPDX-License-Identifier: MIT
//
// A plan into a Hugging Face folder: its config.json, or a second folder with links to the weights or copies of them.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/paths.h"
#include "base/unicode.h"
#include "files/links.h"
#include "mrrope/hf_folder.h"
#include "targets/extend_formats.h"

namespace mrrope::targets {

namespace {

namespace fs = std::filesystem;

std::string folder_of(const ModelFile& model) {
  const fs::path parent = base::to_path(model.path).parent_path();
  return parent.empty() ? "." : base::to_text(parent);
}

std::string config_in(const std::string& folder) { return base::to_text(base::to_path(folder) / "config.json"); }

// What only a GGUF can do.
Result<void> check_options(const ExtendOptions& options) {
  if (options.sidecar) {
    return Error{ErrorCode::invalid_argument,
                 "a sidecar belongs to a .gguf; an output makes a second folder with links", "", "sidecar"};
  }
  if (options.relabel) return Error{ErrorCode::invalid_argument, "only a .gguf is relabelled", "", "relabel"};
  if (options.copy && options.output.empty()) {
    return Error{ErrorCode::invalid_argument, "where to? A copy of the folder needs an output", "", "copy"};
  }
  return {};
}

// Engines read config.json: another file of the folder would silently take its place.
Result<void> check_name(const ModelFile& model, const ExtendOptions& options) {
  const std::string name = base::to_text(base::to_path(model.path).filename());
  if (name == "config.json" || !options.output.empty()) return {};
  return Error{ErrorCode::invalid_argument,
               "engines read config.json, and this file would replace the one beside it; name a folder for the result, "
               "or rename the file to config.json",
               model.path};
}

}  // namespace

Result<Extension> extend_hf(const ModelFile& model, const Plan& plan, const ExtendOptions& options) {
  if (const auto ok = check_options(options); !ok) return ok.error();
  if (const auto ok = check_name(model, options); !ok) return ok.error();
  const std::string folder = folder_of(model);
  if (was_extended(model)) {
    return Error{ErrorCode::inconsistent, "this folder was extended before; undo that first", folder, "undo"};
  }
  const bool universal = options.engine.empty() || base::lower_case(options.engine) == kUniversal;
  const std::string engine = universal ? std::string(kUniversal) : options.engine;
  const Result<Delivery> delivery = deliver(engine, plan, model);
  if (!delivery) return delivery.error();
  HfConfig edited = *model.hf();
  if (const auto ok = edited.apply(delivery->hf); !ok) return ok.error();

  const std::string target = options.output.empty() ? folder : options.output;
  Extension out = described(model, *delivery, plan, target);
  for (const HfChange& change : delivery->hf) out.changes.push_back({change.path, change.before, change.after});
  out.written = config_in(target);
  if (options.output.empty() && base::is_symbolic_link(config_in(folder))) {
    out.notes.push_back("config.json is a link, as in a download cache. A file takes its place, the link is kept as " +
                        std::string(kOriginalConfig) + ", and what it leads to stays as it is.");
  }
  if (options.copy) {
    const Result<std::uint64_t> bytes = bytes_to_copy(folder, target, edited);
    if (!bytes) return bytes.error();
    out.notes.push_back(*bytes < 1'000'000 ? fmt::format("The copy has {} bytes besides its configs.", *bytes)
                                           : fmt::format("The copy has {:.4g} GB.", static_cast<double>(*bytes) / 1e9));
  }
  if (options.dry_run) return out;
  const Result<void> written = options.output.empty() ? replace_config(folder, edited)
                               : options.copy         ? copy_folder(folder, target, edited, options.progress)
                                                      : link_folder(folder, target, edited);
  if (!written) return written.error();
  const Result<double> difference = read_back(target, universal ? "transformers5" : engine, plan);
  if (!difference) return difference.error();
  out.difference = *difference;
  return out;
}

Result<Extension> undo_hf(const ModelFile& model, const ExtendOptions& options) {
  if (const auto ok = check_options(options); !ok) return ok.error();
  if (!options.output.empty()) {
    return Error{ErrorCode::invalid_argument, "a folder is restored where it is; a second folder is simply deleted", "",
                 "output"};
  }
  const std::string folder = folder_of(model);
  std::error_code status;
  if (options.dry_run && !fs::exists(base::to_path(folder) / kOriginalConfig, status)) {
    return Error{ErrorCode::invalid_argument, "nothing to undo: no " + std::string(kOriginalConfig), folder};
  }
  if (!options.dry_run) {
    if (const auto ok = undo_config(folder); !ok) return ok.error();
  }
  Extension out;
  out.model = folder;
  out.written = config_in(folder);
  return out;
}

}  // namespace mrrope::targets

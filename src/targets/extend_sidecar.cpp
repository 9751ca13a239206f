// SPDX-License-Identifier: MIT
//
// An untouched model as "shard 1 of 2", by a link, its new tensors as shard 2, and a script that serves both.
//
// Their names are made from the model's, nobody has typed them: whoever says -f cannot know what lies there. So -f
// replaces a shard and a script that mrrope wrote, keeps a link that leads to the model already, and refuses everything
// else. The script is there only while it fits the shard: it is the last to be written and the first to go.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "files/file.h"
#include "files/in_place.h"
#include "files/links.h"
#include "formats/gguf_sidecar.h"
#include "mrrope/catalogue.h"
#include "mrrope/provenance.h"
#include "mrrope/version.h"
#include "targets/extend_formats.h"
#include "targets/overrides.h"

namespace mrrope::targets {

namespace {

namespace fs = std::filesystem;

fs::path default_folder(const fs::path& model) { return model.parent_path() / (model.stem() += "-mrrope"); }

struct Names {
  Names(fs::path where, const fs::path& model)
      : folder(std::move(where)),
        first(folder / (model.stem() += "-00001-of-00002.gguf")),
        second(folder / (model.stem() += "-00002-of-00002.gguf")),
        script(folder / formats::kServeScript) {}
  fs::path folder;
  fs::path first;
  fs::path second;
  fs::path script;
};

Error in_the_way(const fs::path& path, const char* what) {
  return {ErrorCode::inconsistent,
          std::string("is in the way of the sidecar, and ") + what +
              ": it is not replaced. Name another folder, or move it away",
          base::to_text(path)};
}

bool is_there(const fs::path& path) { return base::is_taken(base::to_text(path)); }

bool is_link(const fs::path& path) { return base::is_symbolic_link(base::to_text(path)); }

// Whether this is a name that add_link() gave the model where it makes no symbolic links, and not the model's own.
bool is_second_name(const fs::path& link, const std::string& model) {
  std::error_code status;
  const fs::path own = base::to_path(model);
  const bool beside = fs::equivalent(link.parent_path(), fs::absolute(own, status).parent_path(), status);
  return base::is_added_link(base::to_text(link)) && !(beside && link.filename() == own.filename());
}

// Whether the name of the link can be had.
Result<void> check_link(const fs::path& link, const ModelFile& model) {
  if (!is_there(link)) return {};
  const bool same = base::identity_of(base::to_text(link)) == base::identity_of(model.path);
  if (!is_link(link) && !(same && is_second_name(link, model.path))) {
    return in_the_way(link, same ? "is the model itself" : "no link of ours");
  }
  if (!same) return in_the_way(link, "leads to another file");
  return {};
}

// A shard without its script is what an interrupted command left.
bool is_unfinished(const Names& names) {
  if (is_there(names.script)) return false;
  const Result<GgufFile> shard = read_gguf_file(base::to_text(names.second));
  return shard && shard->find("mrrope.plan") != nullptr;
}

// Whether the name of the shard can be had.
Result<void> check_shard(const Names& names, const ModelFile& model, bool overwrite) {
  const fs::path& shard = names.second;
  if (!is_there(shard)) return {};
  if (base::identity_of(base::to_text(shard)) == base::identity_of(model.path)) {
    return in_the_way(shard, "is the model itself");
  }
  if (is_link(shard) || !formats::is_sidecar(base::to_text(shard)))
    return in_the_way(shard, "was not written by mrrope");
  return base::check_free(base::to_text(shard), overwrite || is_unfinished(names));
}

// Whether the name of the script can be had.
Result<void> check_script(const Names& names) {
  if (!is_there(names.script)) return {};
  const Result<std::string> text = base::read_file(base::to_text(names.script), std::uint64_t{1} << 20U);
  if (is_link(names.script) || !text || !text->starts_with(formats::kScriptStart)) {
    return in_the_way(names.script, "was not written by mrrope");
  }
  const Result<bool> ours = formats::is_script_of(base::to_text(names.script), base::to_text(names.first.filename()));
  if (!ours) return ours.error();
  if (!*ours) return in_the_way(names.script, "serves another model");
  return {};
}

Result<void> check_names(const Names& names, const ModelFile& model, bool overwrite) {
  if (const auto ok = check_link(names.first, model); !ok) return ok.error();
  if (const auto ok = check_shard(names, model, overwrite); !ok) return ok.error();
  return check_script(names);
}

// For every POSIX shell, whatever the names are, and from any current folder.
std::string script_text(const Names& names, const Plan& plan, const std::string& overrides) {
  return fmt::format(
      "{}{}: a model of {} tokens served with {} ({}).\n"
      "# What follows the name of this script goes to llama-server: serve.sh --port 9000\n"
      "case $0 in\n"
      "  */*) here=${{0%/*}} ;;\n"
      "  *) here=. ;;\n"
      "esac\n"
      "exec llama-server -m \"$here\"/{} -c {} --override-kv {} \"$@\"\n",
      formats::kScriptStart, MRROPE_VERSION, plan.spec.context_trained, plan.context_target, brief(plan.method),
      formats::posix_quoted(base::to_text(names.first.filename())), plan.context_target,
      formats::posix_quoted(overrides));
}

Result<base::PendingFile> prepared_script(const Names& names, std::string_view text) {
  Result<base::PendingFile> script = base::PendingFile::create(base::to_text(names.script), true);
  if (!script) return script.error();
  script->make_executable();
  if (const auto ok = script->file().write_at(0, base::bytes_of(text)); !ok) return ok.error();
  return script;
}

// The three files, one after the other. `linked`: the link was made here.
Result<void> write_in_order(const ModelFile& model, const Names& names, const GgufEdits& edits, std::string_view text,
                            bool& linked) {
  if (!is_there(names.first)) {
    const Result<std::string> way = base::relative_link(model.path, base::to_text(names.folder));
    if (!way) return way.error();
    if (const auto ok = base::add_link(*way, base::to_text(names.first)); !ok) return ok.error();
    linked = true;
  }
  Result<base::PendingFile> script = prepared_script(names, text);
  if (!script) return script.error();
  const Result<std::string> old = base::read_file(base::to_text(names.script), std::uint64_t{1} << 20U);
  if (old) {
    if (const auto ok = base::remove_file(base::to_text(names.script)); !ok) return ok.error();
  }
  const bool replaced = is_there(names.second);
  if (const auto ok = write_gguf_sidecar(edits, base::to_text(names.second), {.overwrite = replaced}); !ok) {
    if (old) {
      if (Result<base::PendingFile> again = prepared_script(names, *old)) (void)again->commit();
    }
    return ok.error();
  }
  Result<void> done = script->commit();
  if (!done && !replaced && !is_there(names.script)) (void)base::remove_file(base::to_text(names.second));
  return done;
}

// The folder, locked; `made`: it was not there. An undo may take it away between the two steps, so that what is locked
// has no name any more.
Result<base::File> locked_folder(const fs::path& folder, bool& made) {
  for (int tries = 3;; --tries) {
    std::error_code status;
    made = fs::create_directories(folder, status);
    if (status) return Error{ErrorCode::io, status.message(), base::to_text(folder)};
    Result<base::File> lock = base::lock_folder(base::to_text(folder));
    const std::optional<base::FileIdentity> there = base::identity_of(base::to_text(folder));
    const Result<base::FileIdentity> held = lock ? lock->identity() : Result<base::FileIdentity>(lock.error());
    if (tries == 0 || (there && (!held || *held == *there))) return lock;
  }
}

// Nobody else writes there meanwhile. What fails leaves nothing behind that was not there.
Result<void> write_files(const ModelFile& model, const Names& names, const GgufEdits& edits, std::string_view text,
                         bool overwrite) {
  bool made = false;
  const Result<base::File> lock = locked_folder(names.folder, made);
  if (!lock) return lock.error();
  bool linked = false;
  Result<void> written = check_names(names, model, overwrite);
  if (written) written = write_in_order(model, names, edits, text, linked);
  if (written) return {};
  std::error_code status;
  if (linked && !is_there(names.second)) fs::remove(names.first, status);
  if (made) fs::remove(names.folder, status);  // only if it is empty
  return written;
}

}  // namespace

Result<void> check_no_sidecar(const ModelFile& model, const ExtendOptions& options) {
  if (options.overwrite) return {};
  std::error_code status;
  const fs::path given = base::to_path(model.path);
  for (const fs::path& path : {fs::absolute(given, status), fs::canonical(given, status)}) {
    for (const fs::path& folder : {default_folder(path), path.parent_path()}) {
      const Names names(folder, path);
      if (base::identity_of(base::to_text(names.first)) != base::identity_of(model.path)) continue;
      if (!formats::is_sidecar(base::to_text(names.second))) continue;
      return Error{ErrorCode::inconsistent,
                   "a sidecar refers to this file (" + base::to_text(names.second) +
                       ") and would not fit it once it is changed. Delete the sidecar; or, if that is meant, force it",
                   model.path, "force"};
    }
  }
  return {};
}

Result<Extension> write_sidecar(const ModelFile& model, const Plan& plan, Delivery delivery,
                                const ExtendOptions& options) {
  const GgufModel& gguf = *model.gguf();
  if (const auto ok = check_fits_sidecar(gguf, delivery.gguf); !ok) return ok.error();
  std::error_code status;
  const fs::path source = fs::absolute(base::to_path(model.path), status);
  if (status) return Error{ErrorCode::io, status.message(), model.path};
  const Names names(options.output.empty() ? default_folder(source) : base::to_path(options.output), source);
  const std::string overrides = sidecar_flags_of(gguf, delivery.gguf);
  GgufEdits edits = delivery.gguf;
  edits.set("mrrope.plan", GgufValue::text(carried_plan(plan)));
  // Names are looked at once, by the one who holds the folder: an undo beside it would take a link away between two
  // looks.
  if (const auto ok = options.dry_run
                          ? check_names(names, model, options.overwrite)
                          : write_files(model, names, edits, script_text(names, plan, overrides), options.overwrite);
      !ok) {
    return ok.error();
  }
  delivery.commands = {fmt::format("llama-server -m {{}} -c {} --override-kv {}", plan.context_target, overrides)};
  Extension out = described(model, delivery, plan, base::to_text(names.first));
  constexpr bool kRunsScripts = fs::path::preferred_separator == '/';  // Windows has no shell for it
  if (kRunsScripts) out.commands.insert(out.commands.begin(), base::shell_quoted(base::to_text(names.script)));
  out.changes = rows_of(gguf, delivery.gguf);
  out.written = base::to_text(names.second);
  out.beside = {base::to_text(names.script)};
  if (options.dry_run) return out;
  const Result<double> difference = read_back(base::to_text(names.first), "llama.cpp", plan);
  if (!difference) return difference.error();
  out.difference = *difference;
  return out;
}

Result<Extension> undo_sidecar(const ModelFile& model, const ExtendOptions& options) {
  if (!options.output.empty() || options.in_place) {
    return Error{ErrorCode::invalid_argument,
                 "a sidecar is taken back where it is: its files are removed, and the model is as it was", model.path};
  }
  const fs::path first = base::to_path(model.path);
  const std::string folder = first.has_parent_path() ? base::to_text(first.parent_path()) : ".";
  Result<base::File> lock = base::lock_folder(folder);
  if (!lock) return lock.error();
  std::error_code status;
  Extension out;
  out.model = base::to_text(fs::canonical(first, status));
  // As it is now, not as it was read
  if (!formats::is_sidecar(model.sidecar->shard)) {
    return Error{ErrorCode::invalid_argument, "nothing to undo: the sidecar is gone", model.sidecar->shard};
  }
  const std::string script = base::to_text(first.parent_path() / formats::kServeScript);
  const Result<bool> ours = formats::is_script_of(script, base::to_text(first.filename()));
  if (!ours) return ours.error();
  if (*ours) out.removed.push_back(script);
  out.removed.push_back(model.sidecar->shard);
  if (base::is_added_link(model.path)) out.removed.push_back(model.path);
  if (options.dry_run) return out;
  for (const std::string& path : out.removed) {
    if (const auto ok = base::remove_file(path); !ok) return ok.error();
  }
  bool removed = fs::remove(base::to_path(folder), status);  // only if it is empty
  if (!removed) {
    { const base::File released = *std::move(lock); }  // Windows removes no folder that is open
    removed = fs::remove(base::to_path(folder), status);
  }
  if (removed) out.removed.push_back(folder);
  return out;
}

}  // namespace mrrope::targets

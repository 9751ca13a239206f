// SPDX-License-Identifier: MIT
#include "mrrope/hf_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "files/copy.h"
#include "files/file.h"
#include "files/in_place.h"
#include "files/links.h"
#include "formats/folder_entries.h"

namespace mrrope {

namespace fs = std::filesystem;

namespace {

Result<std::string> read_file(const std::string& path) { return base::read_file(path, kMaxHfConfigBytes); }

struct Paths {
  explicit Paths(const std::string& folder)
      : config(folder + "/config.json"),
        original(folder + "/" + std::string(kOriginalConfig)),
        extended(folder + "/" + std::string(kExtendedConfig)) {}
  std::string config;
  std::string original;
  std::string extended;
};

Result<base::FileStatus> status_of(const std::string& path) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  return file->status();
}

// Mode and owner as of `like`. `strict`: or an Error.
Result<void> write_like(const base::FileStatus& like, bool strict, const std::string& path, std::string_view text,
                        bool overwrite) {
  Result<base::PendingFile> pending = base::PendingFile::create(path, overwrite);
  if (!pending) return pending.error();
  pending->take_mode_and_owner(like, strict);
  if (const auto ok = pending->file().write_at(0, base::bytes_of(text)); !ok) return ok.error();
  return pending->commit();
}

// A file of a second folder: no more readable than the config.json that it comes from.
Result<void> write_second(const std::string& folder, const std::string& path, std::string_view text) {
  Result<base::PendingFile> pending = base::PendingFile::create(path, false);
  if (!pending) return pending.error();
  if (const Result<base::FileStatus> status = status_of(Paths(folder).config)) pending->take_mode(*status);
  if (const auto ok = pending->file().write_at(0, base::bytes_of(text)); !ok) return ok.error();
  return pending->commit();
}

// The config itself under a second name, not a copy of its text: whatever it is, its way back is a rename. Where there
// are no hard links it is made anew.
Result<void> keep_original(const Paths& paths, const base::FileStatus& status, std::string_view text) {
  if (base::add_name(paths.config, paths.original)) return base::sync_folder_of(paths.original);
  std::error_code failed;
  if (!base::is_symbolic_link(paths.config)) return write_like(status, true, paths.original, text, false);
  fs::copy_symlink(base::to_path(paths.config), base::to_path(paths.original), failed);
  if (failed) return Error{ErrorCode::io, failed.message(), paths.original};
  return base::sync_folder_of(paths.original);
}

// Whether both names lead to one file without a step through a link: a change that ended between its two steps.
bool is_one_file(const Paths& paths) {
  const auto config = base::identity_of(paths.config, base::File::Links::refuse);
  return config && config == base::identity_of(paths.original, base::File::Links::refuse);
}

// What was made of a second folder, and what goes again if it fails.
using Made = std::vector<fs::path>;

Result<void> add_link(const std::string& says, const fs::path& link, Made& made) {
  if (const auto ok = base::add_link(says, base::to_text(link)); !ok) return ok.error();
  made.push_back(link);
  return {};
}

Result<void> add_links(const std::string& source, const std::string& target, const HfConfig& config, Made& made) {
  const Result<std::vector<std::string>> names = formats::entries_to_link(source, target, config);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const Result<std::string> way =
        base::relative_link(base::to_text(base::to_path(source) / base::to_path(name)), target);
    if (!way) return way.error();
    if (const auto ok = add_link(*way, base::to_path(target) / base::to_path(name), made); !ok) return ok.error();
  }
  return {};
}

// As open as the folder `like`, whose files others may not see; for us to write to.
Result<bool> add_folder(const fs::path& like, const fs::path& folder) {
  std::error_code status;
  const bool made = fs::create_directory(folder, like, status);
  if (!status && made) fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, status);
  if (status) return Error{ErrorCode::io, status.message(), base::to_text(folder)};
  return made;
}

// A file that is written to while it is copied gives a copy of neither what it was nor what it is.
Result<void> add_copy(const std::string& source, const std::string& target, base::Progress& progress, Made& made) {
  const Result<base::File> from = base::File::open(source, base::File::Access::read);
  if (!from) return from.error();
  const Result<base::FileStatus> before = from->status();
  if (!before) return before.error();
  Result<base::PendingFile> to = base::PendingFile::create(target, false);
  if (!to) return to.error();
  made.push_back(base::to_path(target));
  to->take_mode(*before);  // what others may not read they may not read in a copy
  if (const auto ok = base::copy_range(*from, 0, before->size, to->file(), 0, progress); !ok) return ok.error();
  const Result<base::FileStatus> after = from->status();
  if (!after) return after.error();
  if (!(*after == *before)) {
    return Error{ErrorCode::inconsistent, "the file was changed while it was copied; try again", source};
  }
  return to->commit();
}

std::uint64_t bytes_of(const std::vector<formats::FolderEntry>& entries) {
  std::uint64_t total = 0;
  for (const formats::FolderEntry& entry : entries) total += entry.bytes;
  return total;
}

Result<void> add_copies(const std::string& source, const std::string& target, const HfConfig& config,
                        base::Progress::Callback callback, Made& made) {
  const Result<std::vector<formats::FolderEntry>> entries = formats::entries_to_copy(source, target, config);
  if (!entries) return entries.error();
  base::Progress progress(std::move(callback), bytes_of(*entries));
  for (const formats::FolderEntry& entry : *entries) {
    const fs::path to = base::to_path(target) / base::to_path(entry.name);
    if (entry.kind == formats::FolderEntry::Kind::link) {
      if (const auto ok = add_link(entry.leads, to, made); !ok) return ok.error();
      continue;
    }
    const fs::path from = base::to_path(source) / base::to_path(entry.name);
    if (entry.kind == formats::FolderEntry::Kind::folder) {
      if (const auto ok = add_folder(from, to); !ok) return ok.error();
      made.push_back(to);
    } else if (const auto ok = add_copy(base::to_text(from), base::to_text(to), progress, made); !ok) {
      return ok.error();
    }
  }
  return {};
}

// Makes and fills a second folder: what `fill` adds, then its configs.
Result<void> second_folder(const std::string& source, const std::string& target, const HfConfig& config,
                           const std::function<Result<void>(Made&)>& fill) {
  const Result<bool> is_new = add_folder(base::to_path(source), base::to_path(target));
  if (!is_new) return is_new.error();
  std::error_code status;
  const Result<base::File> lock = base::lock_folder(target);
  if (!lock) return lock.error();
  if (!fs::is_empty(base::to_path(target), status) || status)
    return Error{ErrorCode::io, "the folder is not empty", target};
  Made made;
  const Paths paths(target);
  Result<void> filled = [&]() -> Result<void> {
    if (const auto ok = fill(made); !ok) return ok.error();
    // So that what was trained stays known
    if (const auto ok = write_second(source, paths.original, config.original()); !ok) return ok.error();
    made.push_back(base::to_path(paths.original));
    // Last: a folder without a config.json is no model
    return write_second(source, paths.config, config.text());
  }();
  // With its config.json it is complete, also if it failed after that
  if (filled || base::is_taken(paths.config)) return filled;
  // Half of a folder would be in the way of the next attempt
  std::reverse(made.begin(), made.end());
  for (const fs::path& path : made) fs::remove(path, status);
  if (*is_new) fs::remove(base::to_path(target), status);
  return filled;
}

}  // namespace

Result<void> replace_config(const std::string& folder, const HfConfig& config) {
  const Paths paths(folder);
  const Result<base::File> lock = base::lock_folder(folder);
  if (!lock) return lock.error();
  const Result<std::string> now = read_file(paths.config);
  if (!now) return now.error();
  const Result<base::FileStatus> status = status_of(paths.config);
  if (!status) return status.error();
  const bool kept = base::is_taken(paths.original);
  if (kept) {
    // Equal: a run that ended between its two steps. Different: the folder is an extended one.
    const Result<std::string> first = read_file(paths.original);
    if (!first) return first.error();
    if (*first != *now) {
      return Error{ErrorCode::inconsistent, "this folder was extended before; undo that first", folder, "undo"};
    }
  } else if (const auto ok = keep_original(paths, *status, *now); !ok) {
    return ok.error();
  }
  // What a link leads to is not ours: a file of the same mode takes its place, if need be of another owner
  std::error_code failed;
  const bool strict = !base::is_symbolic_link(paths.config);
  Result<void> written = write_like(*status, strict, paths.config, config.text(), true);
  if (written || kept) return written;
  // It may have failed after config.json was replaced, when the folder could not be synced: the original stays then
  if (const Result<std::string> after = read_file(paths.config); after && *after == *now) {
    (void)base::remove_file(paths.original);
  }
  return written;
}

Result<void> undo_config(const std::string& folder) {
  const Paths paths(folder);
  const Result<base::File> lock = base::lock_folder(folder);
  if (!lock) return lock.error();
  if (!base::is_taken(paths.original)) {
    return Error{ErrorCode::invalid_argument, "nothing to undo: no " + std::string(kOriginalConfig), folder};
  }
  if (is_one_file(paths)) return base::remove_file(paths.original);
  const Result<std::string> first = read_file(paths.original);
  if (!first) return first.error();
  const Result<std::string> now = read_file(paths.config);
  if (!now) return now.error();
  if (*now != *first) {
    const Result<base::FileStatus> status = status_of(paths.config);
    if (!status) return status.error();
    if (const auto ok = write_like(*status, false, paths.extended, *now, true); !ok) return ok.error();
  }
  return base::rename_file(paths.original, paths.config);
}

Result<void> link_folder(const std::string& folder, const std::string& target, const HfConfig& config) {
  return second_folder(folder, target, config, [&](Made& made) { return add_links(folder, target, config, made); });
}

Result<void> copy_folder(const std::string& folder, const std::string& target, const HfConfig& config,
                         const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress) {
  return second_folder(folder, target, config,
                       [&](Made& made) { return add_copies(folder, target, config, progress, made); });
}

Result<std::uint64_t> bytes_to_copy(const std::string& folder, const std::string& target, const HfConfig& config) {
  const Result<std::vector<formats::FolderEntry>> entries = formats::entries_to_copy(folder, target, config);
  if (!entries) return entries.error();
  return bytes_of(*entries);
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/hf_folder.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "files/file.h"
#include "files/in_place.h"

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

// Whether a second folder has this file already, under the name of a config.
bool is_config(const fs::path& file, const HfConfig& config) {
  const fs::path name = file.filename();
  if (name == "config.json" || name == kOriginalConfig || name == kExtendedConfig) return true;
  std::error_code status;
  // Before it is read: a tokenizer.json has megabytes
  if (name.extension() != ".json" || fs::file_size(file, status) != config.original().size()) return false;
  const Result<std::string> text = read_file(file.string());
  return text && *text == config.original();
}

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
  if (!fs::is_symlink(paths.config, failed)) return write_like(status, true, paths.original, text, false);
  fs::copy_symlink(paths.config, paths.original, failed);
  if (failed) return Error{ErrorCode::io, failed.message(), paths.original};
  return base::sync_folder_of(paths.original);
}

// Whether both names lead to one file without a step through a link: a change that ended between its two steps.
bool is_one_file(const Paths& paths) {
  const auto config = base::identity_of(paths.config, base::File::Links::refuse);
  return config && config == base::identity_of(paths.original, base::File::Links::refuse);
}

// Fills an empty folder, and lists what it has made.
Result<void> fill_folder(const fs::path& source, const std::string& target, const HfConfig& config,
                         std::vector<fs::path>& made) {
  std::error_code status;
  for (auto entry = fs::directory_iterator(source, status); !status && entry != fs::directory_iterator();
       entry.increment(status)) {
    if (is_config(entry->path(), config)) continue;
    // A folder inside the model may be where the target lies
    if (fs::equivalent(entry->path(), target, status)) continue;
    status.clear();
    const fs::path link = fs::path(target) / entry->path().filename();
    fs::create_symlink(entry->path(), link, status);
    if (status) return Error{ErrorCode::io, status.message(), link.string()};
    made.push_back(link);
  }
  if (status) return Error{ErrorCode::io, status.message(), target};
  // So that what was trained stays known
  const Paths paths(target);
  if (const auto ok = write_second(source.string(), paths.original, config.original()); !ok) return ok.error();
  made.emplace_back(paths.original);
  // Last: a folder without a config.json is no model
  return write_second(source.string(), paths.config, config.text());
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
      return Error{ErrorCode::inconsistent, "this folder was extended before; take that back first (--undo)",
                   paths.original};
    }
  } else if (const auto ok = keep_original(paths, *status, *now); !ok) {
    return ok.error();
  }
  // What a link leads to is not ours: a file of the same mode takes its place, if need be of another owner
  std::error_code failed;
  const bool strict = !fs::is_symlink(paths.config, failed);
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
  if (std::rename(paths.original.c_str(), paths.config.c_str()) != 0) {
    return base::os_error("rename to config.json", paths.original, errno);
  }
  return base::sync_folder_of(paths.config);
}

Result<void> link_folder(const std::string& folder, const std::string& target, const HfConfig& config) {
  std::error_code status;
  const fs::path source = fs::absolute(folder, status);
  const bool is_new = !status && fs::create_directory(target, status);
  if (status) return Error{ErrorCode::io, status.message(), target};
  const Result<base::File> lock = base::lock_folder(target);
  if (!lock) return lock.error();
  if (!fs::is_empty(target, status) || status) return Error{ErrorCode::io, "the folder is not empty", target};
  std::vector<fs::path> made;
  Result<void> filled = fill_folder(source, target, config, made);
  // With its config.json, the last, it is complete
  if (filled || base::is_taken(Paths(target).config)) return filled;
  // Half of a folder would be in the way of the next attempt
  for (const fs::path& path : made) fs::remove(path, status);
  if (is_new) fs::remove(target, status);
  return filled;
}

}  // namespace mrrope

// SPDX-License-Identifier: MIT
#include "mrrope/hf_folder.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"

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

}  // namespace

std::optional<Error> replace_config(const std::string& folder, const HfConfig& config) {
  const Paths paths(folder);
  const Result<std::string> now = read_file(paths.config);
  if (!now) return now.error();
  if (base::identity_of(paths.original)) {
    // Equal: a run that ended between its two steps. Different: the folder is an extended one.
    const Result<std::string> first = read_file(paths.original);
    if (!first) return first.error();
    if (*first != *now) {
      return Error{ErrorCode::inconsistent, "this folder was extended before; take that back first (--undo)",
                   paths.original};
    }
  } else if (auto error = base::write_file(paths.original, *now, false)) {
    return error;
  }
  return base::write_file(paths.config, config.text(), true);
}

std::optional<Error> restore_config(const std::string& folder) {
  const Paths paths(folder);
  if (!base::identity_of(paths.original)) {
    return Error{ErrorCode::invalid_argument, "nothing to take back: no " + std::string(kOriginalConfig), folder};
  }
  const Result<std::string> first = read_file(paths.original);
  if (!first) return first.error();
  const Result<std::string> now = read_file(paths.config);
  if (!now) return now.error();
  if (*now != *first) {
    if (auto error = base::write_file(paths.extended, *now, true)) return error;
    if (auto error = base::write_file(paths.config, *first, true)) return error;
  }
  return base::remove_file(paths.original);
}

std::optional<Error> link_folder(const std::string& folder, const std::string& target, const HfConfig& config) {
  std::error_code status;
  const fs::path source = fs::absolute(folder, status);
  if (!status) fs::create_directory(target, status);
  if (status) return Error{ErrorCode::io, status.message(), target};
  if (!fs::is_empty(target, status) || status) return Error{ErrorCode::io, "the folder is not empty", target};
  for (auto entry = fs::directory_iterator(source, status); !status && entry != fs::directory_iterator();
       entry.increment(status)) {
    if (is_config(entry->path(), config)) continue;
    // A folder inside the model may be where the target lies
    if (fs::equivalent(entry->path(), target, status)) continue;
    status.clear();
    const fs::path link = fs::path(target) / entry->path().filename();
    fs::create_symlink(entry->path(), link, status);
    if (status) return Error{ErrorCode::io, status.message(), link.string()};
  }
  if (status) return Error{ErrorCode::io, status.message(), target};
  // So that what was trained stays known
  const Paths paths(target);
  if (auto error = base::write_file(paths.original, config.original(), false)) return error;
  // Last: a folder without a config.json is no model
  return base::write_file(paths.config, config.text(), false);
}

}  // namespace mrrope

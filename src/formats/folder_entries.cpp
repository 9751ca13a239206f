// SPDX-License-Identifier: MIT
#include "formats/folder_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/paths.h"
#include "base/text.h"
#include "files/file.h"
#include "files/links.h"
#include "mrrope/hf_folder.h"

namespace mrrope::formats {

namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 32;

// Whether a second folder has this file already, under the name of a config.
bool is_config(const fs::path& file, const HfConfig& config) {
  const fs::path name = file.filename();
  if (name == "config.json" || name == kOriginalConfig || name == kExtendedConfig) return true;
  std::error_code status;
  // Before it is read: a tokenizer.json has megabytes
  if (name.extension() != ".json" || fs::file_size(file, status) != config.original().size()) return false;
  const Result<std::string> text = base::read_file(base::to_text(file), kMaxHfConfigBytes);
  return text && *text == config.original();
}

Error too_many(const std::string& folder) {
  return {ErrorCode::unsupported, fmt::format("more than {} files: this is no model's folder", kMostFolderFiles),
          folder};
}

// The names in one folder, in a fixed order, without `target`.
Result<std::vector<fs::path>> listed(const fs::path& folder, const std::string& target) {
  std::vector<fs::path> paths;
  std::error_code status;
  for (auto entry = fs::directory_iterator(folder, status); !status && entry != fs::directory_iterator();
       entry.increment(status)) {
    std::error_code unseen;  // a target that is not there yet
    if (fs::equivalent(entry->path(), base::to_path(target), unseen)) continue;
    if (paths.size() >= kMostFolderFiles) return too_many(base::to_text(folder));
    paths.push_back(entry->path());
  }
  if (status) return Error{ErrorCode::io, status.message(), base::to_text(folder)};
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

class Walk {
 public:
  Walk(fs::path source, const std::string& target, const HfConfig& config)
      : source_(std::move(source)), target_(target), config_(config) {}

  Result<void> into(const fs::path& folder, int depth) {
    if (depth > kMostDepth)
      return Error{ErrorCode::unsupported, "folders within folders, too deep", base::to_text(folder)};
    const Result<std::vector<fs::path>> paths = listed(folder, target_);
    if (!paths) return paths.error();
    for (const fs::path& path : *paths) {
      const bool top = depth == 0;
      if (top && (path.filename() == ".git" || is_config(path, config_))) continue;
      if (entries.size() >= kMostFolderFiles) return too_many(base::to_text(source_));
      if (const auto ok = add(path, depth); !ok) return ok.error();
    }
    return {};
  }

  std::vector<FolderEntry> entries;

 private:
  Result<void> add(const fs::path& path, int depth) {
    std::error_code unseen;
    FolderEntry entry{.name = base::to_text(path.lexically_relative(source_))};
    const fs::file_status itself = fs::symlink_status(path, unseen);
    if (fs::is_symlink(itself)) return add_link(path, std::move(entry));
    if (fs::is_directory(itself)) {
      entry.kind = FolderEntry::Kind::folder;
      entries.push_back(std::move(entry));
      return into(path, depth + 1);
    }
    if (!fs::is_regular_file(itself)) {
      return Error{ErrorCode::unsupported, "neither a file nor a folder, so it is not copied; take it away",
                   base::to_text(path)};
    }
    return add_file(path, std::move(entry));
  }

  Result<void> add_file(const fs::path& path, FolderEntry entry) {
    std::error_code unseen;
    entry.bytes = fs::file_size(path, unseen);
    if (unseen) return Error{ErrorCode::io, unseen.message(), base::to_text(path)};
    entries.push_back(std::move(entry));
    return {};
  }

  Result<void> add_link(const fs::path& path, FolderEntry entry) {
    std::error_code unseen;
    const fs::path end = fs::canonical(path, unseen);
    if (unseen) return Error{ErrorCode::io, "a link that leads nowhere; take it away", base::to_text(path)};
    if (is_copied(end)) {
      Result<std::string> way = base::relative_link(base::to_text(end), base::to_text(path.parent_path()));
      if (!way) return way.error();
      entry.kind = FolderEntry::Kind::link;
      entry.leads = *std::move(way);
      entries.push_back(std::move(entry));
      return {};
    }
    if (fs::is_regular_file(end, unseen)) return add_file(path, std::move(entry));
    return Error{
        ErrorCode::unsupported,
        fmt::format("a link out of the folder, to {}, which is not copied; take it away, or copy that yourself",
                    base::printable(base::to_text(end), base::to_text(end).size())),
        base::to_text(path)};
  }

  // Whether it will be in the copy as well, so that a link can lead there. Git keeps files of links in .git (annex).
  [[nodiscard]] bool is_copied(const fs::path& end) const {
    std::error_code unseen;
    const fs::path target = fs::weakly_canonical(base::to_path(target_), unseen);
    return is_within(end, source_) && !is_within(end, source_ / ".git") && !is_within(end, target);
  }

  fs::path source_;
  const std::string& target_;
  const HfConfig& config_;
};

}  // namespace

Result<std::vector<std::string>> entries_to_link(const std::string& folder, const std::string& target,
                                                 const HfConfig& config) {
  const Result<std::vector<fs::path>> paths = listed(base::to_path(folder), target);
  if (!paths) return paths.error();
  std::vector<std::string> names;
  for (const fs::path& path : *paths) {
    if (path.filename() != ".git" && !is_config(path, config)) names.push_back(base::to_text(path.filename()));
  }
  return names;
}

Result<std::vector<FolderEntry>> entries_to_copy(const std::string& folder, const std::string& target,
                                                 const HfConfig& config) {
  std::error_code failed;
  const fs::path source = fs::canonical(base::to_path(folder), failed);
  if (failed) return Error{ErrorCode::io, failed.message(), folder};
  Walk walk(source, target, config);
  if (const auto ok = walk.into(source, 0); !ok) return ok.error();
  return std::move(walk.entries);
}

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "files/file.h"
#include "files/folders.h"
#include "files/in_place.h"
#include "mrrope/records.h"
#include "runs/run_files.h"

namespace mrrope::eval {

struct RunFolder::Log {
  base::File file;
};

RunFolder::RunFolder() = default;
RunFolder::RunFolder(RunFolder&&) noexcept = default;
RunFolder& RunFolder::operator=(RunFolder&&) noexcept = default;
RunFolder::~RunFolder() = default;

Result<void> RunFolder::load() {
  Result<RunInfo> info = read_run_info(path_);
  if (!info) return info.error();
  info_ = *std::move(info);
  const auto keep = [this](Record&& record, std::string_view /*line*/) -> Result<void> {
    if (by_key_.emplace(record.key, records_.size()).second) records_.push_back(std::move(record));
    return {};
  };
  const Result<RecordsEnd> end = read_records(path_, keep);
  if (!end) return end.error();
  good_bytes_ = end->good_bytes;
  torn_ = end->torn;
  return {};
}

Result<RunFolder> RunFolder::read(const std::string& path) {
  RunFolder folder;
  folder.path_ = path;
  if (const auto ok = folder.load(); !ok) return ok.error();
  return folder;
}

Result<RunFolder> RunFolder::open(const std::string& path, const RunInfo& info) {
  RunFolder folder;
  folder.path_ = path;
  if (const auto ok = base::make_folder(path); !ok) return ok.error();
  if (!base::identity_of(path + "/run.json")) {
    // run.json is made first: these are not ours, and their last line would be taken for a damaged one
    if (base::identity_of(path + "/records.jsonl")) {
      return Error{ErrorCode::inconsistent, "there are records, but no run.json that says of what; take another folder",
                   path};
    }
    if (const auto ok = base::write_file(path + "/run.json", to_json(info), false); !ok) return ok.error();
  }
  if (!base::identity_of(path + "/records.jsonl")) {
    if (const auto ok = base::write_file(path + "/records.jsonl", "", false); !ok) return ok.error();
  }
  Result<base::File> log =
      base::File::open(path + "/records.jsonl", base::File::Access::read_write, base::File::Links::refuse);
  if (!log) return log.error();
  if (!base::lock_for_change(*log)) {
    return Error{ErrorCode::io, "another process is measuring into this folder", path};
  }
  if (const auto ok = folder.load(); !ok) return ok.error();
  if (folder.info_.task != info.task || folder.info_.model_hash != info.model_hash) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("this folder holds {} of {}; take another one", folder.info_.task, folder.info_.model),
                 path};
  }
  if (const std::string setting = different_setting(folder.info_, info); !setting.empty()) {
    return Error{ErrorCode::inconsistent, fmt::format("this folder was measured with {}; take another one", setting),
                 path};
  }
  if (!draw_alike(folder.info_, info)) {
    return Error{ErrorCode::inconsistent, "this folder is from before items were drawn; take another one", path};
  }
  const Result<std::uint64_t> size = log->size();
  if (!size) return size.error();
  if (*size != folder.good_bytes_) {
    if (const auto ok = log->resize(folder.good_bytes_); !ok) return ok.error();
  }
  folder.log_ = std::make_unique<Log>(Log{*std::move(log)});
  return folder;
}

std::string different_setting(const RunInfo& run, const RunInfo& other) {
  if (run.engine != other.engine) return fmt::format("{}, not {}", run.engine, other.engine);
  for (const auto& [flag, value] : run.settings) {
    const auto found = other.settings.find(flag);
    if (found != other.settings.end() && found->second != value) {
      return fmt::format("{} {}, not {}", flag, value, found->second);
    }
  }
  return "";
}

const Record* RunFolder::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found != by_key_.end() ? &records_[found->second] : nullptr;
}

Result<void> RunFolder::append(const Record& record) {
  if (!log_) return Error{ErrorCode::invalid_argument, "the folder was opened to be read", path_};
  const std::string line = to_json(record) + "\n";
  // JSON has no infinities: a line that cannot be read would spoil the folder.
  if (const Result<Record> back = record_from_json(line); !back) return back.error();
  Result<void> written = log_->file.write_at(good_bytes_, base::bytes_of(std::string_view(line)));
  if (written) written = log_->file.sync();
  if (!written) {
    (void)log_->file.resize(good_bytes_);  // as it was; if even that fails, the next open takes the torn line away
    return written;
  }
  good_bytes_ += line.size();
  by_key_[record.key] = records_.size();
  records_.push_back(record);
  return {};
}

}  // namespace mrrope::eval

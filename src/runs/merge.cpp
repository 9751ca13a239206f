// SPDX-License-Identifier: MIT
#define XXH_INLINE_ALL
#include "mrrope/merge.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/paths.h"
#include "files/file.h"
#include "files/folders.h"
#include "mrrope/records.h"
#include "runs/line_writer.h"
#include "runs/run_files.h"
#include "runs/seen.h"

namespace mrrope::eval {

namespace {

// A key of any length in 96 bits, two of 10^7 being mistaken for each other once in 10^15 merges; and what was
// measured.
struct Known {
  std::uint64_t hash = 0;
  std::uint32_t more = 0;
  std::uint32_t result = 0;
  [[nodiscard]] bool same(const Known& other) const { return hash == other.hash && more == other.more; }
};

// What two measurements of one thing should agree in: the score, or the sums at every length.
std::uint64_t result_of(const Record& record) {
  if (const Answer* answer = record.answer()) return XXH3_64bits(&answer->score, sizeof(double));
  std::vector<double> numbers;
  for (const Reading::Point& p : record.reading()->points) {
    numbers.insert(numbers.end(), {static_cast<double>(p.length), static_cast<double>(p.predicted), p.nll});
  }
  return XXH3_64bits(numbers.data(), numbers.size() * sizeof(double));
}

Known known(const Record& record) {
  const XXH128_hash_t hash = XXH3_128bits(record.key.data(), record.key.size());
  return {hash.low64 != 0 ? hash.low64 : 1, static_cast<std::uint32_t>(hash.high64),
          static_cast<std::uint32_t>(result_of(record))};
}

// A folder inside one beside `target` that nobody else looks into; takes its name when it is complete.
class PendingFolder {
 public:
  static Result<PendingFolder> create(const std::string& target) {
    if (base::identity_of(target)) {
      return Error{ErrorCode::invalid_argument, "exists already; take another name, or remove it", target};
    }
    Result<std::string> name = base::make_unique_folder(target);
    if (!name) return name.error();
    PendingFolder folder(*std::move(name), target);
    if (const auto ok = base::make_folder(folder.run()); !ok) return ok.error();
    return folder;
  }

  PendingFolder(PendingFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)) {}
  PendingFolder& operator=(PendingFolder&&) = delete;
  PendingFolder(const PendingFolder&) = delete;
  PendingFolder& operator=(const PendingFolder&) = delete;
  ~PendingFolder() {
    if (path_.empty()) return;
    std::error_code ignored;
    for (const std::string& left : {file("run.json"), file("records.jsonl"), run(), path_})
      std::filesystem::remove(base::to_path(left), ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return run() + "/" + name; }
  [[nodiscard]] Result<void> commit() { return base::name_folder(run(), target_); }

 private:
  PendingFolder(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}
  [[nodiscard]] std::string run() const { return path_ + "/run"; }
  std::string path_;
  std::string target_;
};

// That of the first, and the settings that only later ones have.
Result<RunInfo> common_info(const std::vector<std::string>& inputs) {
  std::optional<RunInfo> common;
  for (const std::string& input : inputs) {
    const Result<RunInfo> info = read_run_info(input);
    if (!info) return info.error();
    if (!base::identity_of(input + "/records.jsonl")) {
      return Error{ErrorCode::io, "its records are missing", input + "/records.jsonl"};
    }
    if (!common) common = *info;
    if (info->task != common->task || info->model_hash != common->model_hash) {
      return Error{ErrorCode::inconsistent,
                   fmt::format("holds {} of {} ({}), but {} holds {} of {} ({})", info->task, info->model,
                               info->model_hash, inputs.front(), common->task, common->model, common->model_hash),
                   input};
    }
    if (const std::string setting = different_setting(*info, *common); !setting.empty()) {
      return Error{ErrorCode::inconsistent,
                   fmt::format("was measured with {} as {}; these are not one run", setting, inputs.front()), input};
    }
    if (!draw_alike(*info, *common)) {
      return Error{
          ErrorCode::inconsistent,
          fmt::format("one of it and {} is from before items were drawn; these are not one run", inputs.front()),
          input};
    }
    common->settings.insert(info->settings.begin(), info->settings.end());
  }
  return *common;
}

}  // namespace

Result<Merged> merge_runs(const std::vector<std::string>& inputs, const std::string& output) {
  if (inputs.empty()) return Error{ErrorCode::invalid_argument, "there is nothing to merge", ""};
  const Result<RunInfo> info = common_info(inputs);
  if (!info) return info.error();
  const std::size_t last = output.find_last_not_of('/');
  if (last == std::string::npos) return Error{ErrorCode::invalid_argument, "expected the name of a new folder", output};
  Result<PendingFolder> folder = PendingFolder::create(output.substr(0, last + 1));
  if (!folder) return folder.error();
  if (const auto ok = base::write_file(folder->file("run.json"), to_json(*info), false); !ok) return ok.error();
  Result<base::PendingFile> records = base::PendingFile::create(folder->file("records.jsonl"), false);
  if (!records) return records.error();

  Merged merged;
  LineWriter writer(records->file());
  Seen<Known> seen;
  const auto take = [&](const Record& record, std::string_view line) -> Result<void> {
    const Known now = known(record);
    const Known* before = seen.find_or_add(now);
    if (before == nullptr) {
      ++merged.records;
      return writer.line(line);
    }
    ++merged.repeated;
    if (before->result != now.result) ++merged.contradictions;
    return {};
  };
  for (const std::string& input : inputs) {
    const Result<RecordsEnd> end = read_records(input, take);
    if (!end) return end.error();
    if (end->torn) merged.torn.push_back(input);
  }
  if (const auto ok = writer.flush(); !ok) return ok.error();
  if (const auto ok = records->commit(); !ok) return ok.error();
  if (const auto ok = folder->commit(); !ok) return ok.error();
  return merged;
}

}  // namespace mrrope::eval

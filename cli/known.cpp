// SPDX-License-Identifier: MIT
#include "cli/known.h"

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "base/paths.h"
#include "cli/input.h"
#include "files/file.h"
#include "files/in_place.h"
#include "report/tune_words.h"

namespace mrrope::cli {

namespace {

constexpr const char* kFolder = "tuned";                        // where mrrope tune writes if it is not told
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20U;  // as read_tune()

// Anybody may put a folder of this name here: a file counts if it belongs to the caller or to the model's owner.
Result<base::Json> json_of(const std::string& path, const base::FileStatus& model) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  const Result<base::FileStatus> status = file ? file->status() : Result<base::FileStatus>(file.error());
  if (!status) return status.error();
  if (!base::is_own(*status) && status->owner != model.owner) {
    return Error{ErrorCode::inconsistent, "ignored: it belongs to neither you nor the owner of the model", path};
  }
  const Result<std::string> text = base::read_file(path, kMostBytes);
  return text ? base::parse_json(*text) : text.error();
}

// `--plan tuned` takes plan.json: it has to be the plan that was measured.
Result<void> check_plan(const std::string& folder, const GgufModel& model) {
  const Result<base::File> shard = base::File::open(model.shards.front().path, base::File::Access::read);
  const Result<base::FileStatus> status = shard ? shard->status() : Result<base::FileStatus>(shard.error());
  if (!status) return status.error();
  const Result<base::Json> measured = json_of(folder + "/tune.json", *status);
  if (!measured) return measured.error();
  const Result<base::Json> written = json_of(folder + "/plan.json", *status);
  if (!written) return written.error();
  if (measured->value("plan", base::Json()) == *written) return {};
  return Error{ErrorCode::inconsistent, "ignored: it is not the plan of tune.json beside it", folder + "/plan.json"};
}

}  // namespace

Known known_about(const GgufModel& model, std::int64_t context) {
  Known out;
  std::vector<std::string> folders = {kFolder};
  const std::filesystem::path beside = base::to_path(model.shards.front().path).parent_path() / kFolder;
  if (beside != kFolder) folders.push_back(base::to_text(beside));
  for (const std::string& folder : folders) {
    const Result<std::optional<report::TuneFile>> tune = report::read_tune(folder);
    if (!tune) {
      out.trouble = to_string(tune.error());
      continue;
    }
    if (!*tune || (*tune)->context != context) continue;
    const Result<std::string> hash = model_hash(model);
    if (!hash || *hash != (*tune)->model_hash) continue;
    if (const auto ok = check_plan(folder, model); !ok) {
      out.trouble = to_string(ok.error());
      continue;
    }
    return {.folder = folder, .sentence = report::tune_sentence(**tune), .trouble = ""};
  }
  return out;
}

}  // namespace mrrope::cli

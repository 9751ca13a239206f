// SPDX-License-Identifier: MIT
#include "cli/known.h"

#include <filesystem>
#include <vector>

#include "base/paths.h"
#include "cli/input.h"
#include "report/tune_words.h"

namespace mrrope::cli {

namespace {

constexpr const char* kFolder = "tuned";  // where mrrope tune writes if it is not told

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
    return {.folder = folder, .sentence = report::tune_sentence(**tune), .trouble = ""};
  }
  return out;
}

}  // namespace mrrope::cli

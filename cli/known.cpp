// SPDX-License-Identifier: MIT
#include "cli/known.h"

#include <filesystem>

#include "cli/input.h"
#include "report/tune_words.h"

namespace mrrope::cli {

namespace {

constexpr const char* kFolder = "tuned";  // where mrrope tune writes if it is not told

}  // namespace

Known known_about(const std::string& model, std::int64_t context) {
  Known out;
  const std::filesystem::path beside = std::filesystem::path(model).parent_path() / kFolder;
  for (const std::string& folder : {std::string(kFolder), beside.string()}) {
    const Result<std::optional<report::TuneFile>> tune = report::read_tune(folder);
    if (!tune) {
      out.trouble = to_string(tune.error());
      continue;
    }
    if (!*tune || (*tune)->context != context) continue;
    const Result<ModelFile> file = read_model(model);
    if (!file || file->gguf() == nullptr) return out;
    const Result<std::string> hash = model_hash(*file->gguf());
    if (!hash || *hash != (*tune)->model_hash) continue;
    return {.folder = folder, .sentence = report::tune_sentence(**tune), .trouble = ""};
  }
  return out;
}

}  // namespace mrrope::cli

// SPDX-License-Identifier: MIT
#include "formats/gguf_sidecar.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "files/file.h"
#include "formats/gguf_split.h"

namespace mrrope::formats {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWriterKey = "mrrope.version";  // as in provenance.cpp
constexpr std::string_view kSecond = "-00002-of-00002.gguf";
constexpr std::size_t kMostTensors = 2;           // rope_freqs, or a long and a short list
constexpr std::uint64_t kMostScript = 1U << 20U;  // one of ours has a few hundred bytes

bool is_second(const GgufFile& file) {
  const GgufValue* number = file.find(kSplitNo);
  const GgufValue* count = file.find(kSplitCount);
  return file.find(kWriterKey) != nullptr && number != nullptr && number->count() == 1U && count != nullptr &&
         count->count() == 2U;
}

std::string first_of(const std::string& second) {
  return shard_path(second.substr(0, second.size() - kSecond.size()), 1, 2);
}

// What the shard adds. Only keys of this architecture: a sidecar changes how a model rotates, not what it is.
Result<GgufEdits> edits_in(const GgufFile& shard, const std::string& architecture) {
  GgufEdits edits;
  for (const GgufEntry& entry : shard.entries) {
    if (entry.key.starts_with(architecture + ".") || entry.key.starts_with("mrrope.")) {
      edits.set(entry.key, entry.value);
    }
  }
  if (shard.tensors.size() > kMostTensors) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("says that mrrope wrote it, which writes {} tensors at most; it has {}", kMostTensors,
                             shard.tensors.size()),
                 shard.path};
  }
  for (const GgufTensor& tensor : shard.tensors) {
    Result<std::vector<float>> values = read_f32_tensor(GgufModel{{shard}}, tensor.name);
    if (!values) return values.error();
    edits.add_tensor(tensor.name, *std::move(values));
  }
  return edits;
}

}  // namespace

bool is_sidecar(const std::string& path) {
  const Result<GgufFile> file = read_gguf_file(path);
  return file && is_second(*file);
}

std::string posix_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += "'\\''";  // ends the quotes, an apostrophe, begins them again
    else quoted += c;
  }
  return quoted + "'";
}

Result<bool> is_script_of(const std::string& path, std::string_view first) {
  std::error_code status;
  if (!fs::is_regular_file(base::to_path(path), status)) return false;
  const Result<std::string> text = base::read_file(path, kMostScript);
  if (!text && text.error().code == ErrorCode::malformed) return false;  // too long to be one
  if (!text) return text.error();
  return text->starts_with(kScriptStart) && text->find("/" + posix_quoted(first)) != std::string::npos;
}

Result<std::optional<std::string>> first_shard_of(const std::string& path) {
  std::error_code status;
  if (!fs::is_directory(base::to_path(path), status)) {
    if (!path.ends_with(kSecond) || !is_sidecar(path)) return std::optional<std::string>();
    return std::optional(first_of(path));
  }
  std::vector<std::string> found;
  for (auto entry = fs::directory_iterator(base::to_path(path), status); !status && entry != fs::directory_iterator();
       entry.increment(status)) {
    const std::string file = base::to_text(entry->path());
    if (file.ends_with(kSecond) && is_sidecar(file)) found.push_back(file);
  }
  if (found.empty()) return std::optional<std::string>();
  const std::string& first = *std::min_element(found.begin(), found.end());
  if (found.size() > 1) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} sidecars in one folder; name the one that is meant, {} or another", found.size(),
                             base::printable(first)),
                 path};
  }
  return std::optional(first_of(first));
}

Result<std::optional<Sidecar>> sidecar_of(const GgufModel& model) {
  const std::optional<Sidecar> none;
  // A shard of a model that was split says so itself
  const std::optional<ShardName> name = shard_name(model.head().path);
  if (!name || name->number != 1 || name->count != 2 || model.head().find(kSplitCount) != nullptr) return none;
  const std::string second = shard_path(name->prefix, 2, 2);
  std::error_code status;
  if (!fs::is_regular_file(base::to_path(second), status)) return none;
  const Result<GgufFile> shard = read_gguf_file(second);
  if (!shard || !is_second(*shard)) return none;
  Result<GgufEdits> edits = edits_in(*shard, model.architecture());
  if (!edits) return edits.error();
  const fs::path first = base::to_path(model.head().path);
  const std::string script = base::to_text(first.parent_path() / kServeScript);
  const Result<bool> served = is_script_of(script, base::to_text(first.filename()));
  const bool complete = served && *served;
  return std::optional(Sidecar{.shard = second, .script = complete ? script : "", .edits = *std::move(edits)});
}

}  // namespace mrrope::formats

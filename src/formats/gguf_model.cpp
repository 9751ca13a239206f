// SPDX-License-Identifier: MIT
//
// A model as one or several files.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "files/file.h"
#include "formats/gguf_bytes.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_split.h"
#include "formats/gguf_types.h"
#include "formats/gguf_write.h"

namespace mrrope {

namespace formats {

namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::size_t kDigits = 5;

std::optional<std::uint64_t> five_digits(std::string_view text) {
  if (text.size() != kDigits || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A whole number in the header, or an Error that names the file.
Result<std::uint64_t> required_count(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return Error{ErrorCode::inconsistent, fmt::format("the key {} is missing", key), file.path};
  if (const auto count = value->count()) return *count;
  return Error{ErrorCode::malformed, fmt::format("{} should be a whole number, found {}", key, value->display()),
               file.path};
}

// What a parsed header costs: its bytes, and up to 160 for the objects of each key and tensor.
std::uint64_t memory_of(const GgufFile& file) noexcept {
  return file.data_offset + 160 * (file.entries.size() + file.tensors.size());
}

Result<void> check_shard(const GgufFile& shard, std::uint64_t index, std::uint64_t count) {
  const Result<std::uint64_t> no = required_count(shard, kSplitNo);
  if (!no) return no.error();
  if (*no != index) {
    return Error{ErrorCode::inconsistent, fmt::format("{} is {}, expected {}", kSplitNo, *no, index), shard.path};
  }
  // Only the first shard must have it: llama.cpp reads it there alone.
  if (shard.find(kSplitCount) == nullptr) return {};
  const Result<std::uint64_t> said = required_count(shard, kSplitCount);
  if (!said) return said.error();
  if (*said == count) return {};
  return Error{ErrorCode::inconsistent, fmt::format("{} is {}, but the first shard says {}", kSplitCount, *said, count),
               shard.path};
}

Result<void> check_tensors(const GgufModel& model) {
  std::vector<std::string_view> names;
  for (const GgufFile& shard : model.shards) {
    for (const GgufTensor& tensor : shard.tensors) names.emplace_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  const std::string& path = model.head().path;
  if (twice != names.end()) {
    return Error{ErrorCode::inconsistent, fmt::format("two shards hold the tensor {}", printable(*twice)), path};
  }
  if (model.head().find(kSplitTensors) == nullptr) return {};
  const Result<std::uint64_t> said = required_count(model.head(), kSplitTensors);
  if (!said) return said.error();
  if (*said == names.size()) return {};
  return Error{ErrorCode::inconsistent,
               fmt::format("{} is {}, but the shards hold {} tensors", kSplitTensors, *said, names.size()), path};
}

}  // namespace

std::optional<ShardName> shard_name(std::string_view path) {
  constexpr std::size_t kTail = 1 + kDigits + 4 + kDigits + kSuffix.size();  // -00001-of-00002.gguf
  if (path.size() <= kTail) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail);
  const auto number = five_digits(tail.substr(1, kDigits));
  const auto count = five_digits(tail.substr(1 + kDigits + 4, kDigits));
  if (!number || !count || tail[0] != '-' || tail.substr(1 + kDigits, 4) != "-of-" || !tail.ends_with(kSuffix)) {
    return std::nullopt;
  }
  if (*number < 1 || *number > *count) return std::nullopt;
  return ShardName{std::string(path.substr(0, path.size() - kTail)), *number, *count};
}

std::string shard_path(std::string_view prefix, std::uint64_t number, std::uint64_t count) {
  return fmt::format("{}-{:05}-of-{:05}{}", prefix, number, count, kSuffix);
}

}  // namespace formats

// ---- GgufModel -----------------------------------------------------------------------------------------------------

std::string GgufModel::architecture() const {
  const GgufValue* value = head().find(formats::kArchitectureKey);
  return std::string(value == nullptr ? std::string_view() : value->text().value_or(std::string_view()));
}

const GgufValue* GgufModel::find(std::string_view suffix) const noexcept {
  const GgufValue* value = head().find(formats::kArchitectureKey);
  const std::string_view prefix = value == nullptr ? std::string_view() : value->text().value_or(std::string_view());
  for (const GgufEntry& entry : head().entries) {
    const std::string_view key = entry.key;
    if (key.size() == prefix.size() + 1 + suffix.size() && key.starts_with(prefix) && key[prefix.size()] == '.' &&
        key.ends_with(suffix)) {
      return &entry.value;
    }
  }
  return nullptr;
}

const GgufTensor* GgufModel::find_tensor(std::string_view name) const noexcept {
  for (const GgufFile& shard : shards) {
    if (const GgufTensor* tensor = shard.find_tensor(name)) return tensor;
  }
  return nullptr;
}

Result<GgufModel> read_gguf(const std::string& path) {
  std::uint64_t budget = kMaxGgufHeader;
  Result<GgufFile> head = formats::read_header(path, budget);
  if (!head) return head.error();
  GgufModel model;
  model.shards.push_back(std::move(*head));
  // The header decides, not the name: an untouched model may stand as shard 1 beside a sidecar (docs/gguf.md).
  if (model.head().find(formats::kSplitCount) == nullptr) return model;
  const Result<std::uint64_t> count = formats::required_count(model.head(), formats::kSplitCount);
  if (!count) return count.error();
  if (*count <= 1) return model;

  const Result<std::uint64_t> no = formats::required_count(model.head(), formats::kSplitNo);
  if (!no) return no.error();
  const std::optional<formats::ShardName> name = formats::shard_name(path);
  if (*no != 0) {
    std::string message = fmt::format("shard {} of {}; give the first one", *no + 1, *count);
    if (name) message += ": " + formats::shard_path(name->prefix, 1, name->count);
    return Error{ErrorCode::invalid_argument, std::move(message), path};
  }
  if (!name || name->number != 1 || name->count != *count) {
    return Error{ErrorCode::inconsistent,
                 fmt::format("the first of {} shards, so its name should end in {}", *count,
                             *count <= 99999 ? formats::shard_path("", 1, *count) : "-00001-of-NNNNN.gguf"),
                 path};
  }
  for (std::uint64_t i = 1; i < *count; ++i) {
    budget -= std::min(budget, formats::memory_of(model.shards.back()));
    Result<GgufFile> shard = formats::read_header(formats::shard_path(name->prefix, i + 1, *count), budget);
    if (!shard) return shard.error();
    if (const auto ok = formats::check_shard(*shard, i, *count); !ok) return ok.error();
    model.shards.push_back(std::move(*shard));
  }
  if (const auto ok = formats::check_tensors(model); !ok) return ok.error();
  return model;
}

Result<std::vector<float>> read_f32_tensor(const GgufModel& model, std::string_view name) {
  for (const GgufFile& shard : model.shards) {
    const GgufTensor* tensor = shard.find_tensor(name);
    if (tensor == nullptr) continue;
    const Result<base::File> file = base::File::open(shard.path, base::File::Access::read);
    if (!file) return file.error();
    Result<std::vector<float>> values = formats::f32_values(
        shard, *tensor, [&](std::uint64_t offset, std::span<std::byte> into) { return file->read_at(offset, into); });
    // The header is from before: what lies there now may be other bytes
    if (const auto ok = formats::check_unchanged(*file, shard); !ok) return ok.error();
    return values;
  }
  return Error{ErrorCode::invalid_argument, fmt::format("no tensor {}", formats::printable(name)), model.head().path};
}

}  // namespace mrrope

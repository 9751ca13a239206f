// SPDX-License-Identifier: MIT
#include "formats/gguf_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"
#include "formats/gguf_bytes.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_split.h"
#include "formats/gguf_types.h"

namespace mrrope {

namespace formats {

namespace {

constexpr std::size_t kMaxNewName = 63;  // GGML_MAX_NAME - 1: llama.cpp refuses longer ones

Error refused(ErrorCode code, std::string message, std::string_view name) {
  return {code, std::move(message), printable(name)};
}

// ---- Keys ----------------------------------------------------------------------------------------------------------

auto position_of(std::vector<GgufEntry>& entries, std::string_view key) {
  return std::find_if(entries.begin(), entries.end(), [&](const GgufEntry& entry) { return entry.key == key; });
}

Result<void> relabel(GgufFile& file, const std::string& architecture) {
  const auto label = position_of(file.entries, kArchitectureKey);
  if (label == file.entries.end() || !label->value.text()) {
    return refused(ErrorCode::inconsistent, "the file does not name its architecture, so it cannot be relabelled",
                   kArchitectureKey);
  }
  if (architecture.empty()) return refused(ErrorCode::invalid_argument, "an empty name", kArchitectureKey);
  const std::string old = std::string(*label->value.text()) + ".";
  label->value = GgufValue::text(architecture);
  for (GgufEntry& entry : file.entries) {
    if (entry.key.starts_with(old) && entry.key != kArchitectureKey) {
      entry.key = architecture + "." + entry.key.substr(old.size());
    }
  }
  return {};
}

Result<void> change(GgufFile& file, const GgufEdits::Change& change) {
  if (change.key == kAlignmentKey) {
    return refused(ErrorCode::unsupported, "cannot be changed: all tensor data would have to move", change.key);
  }
  const auto place = position_of(file.entries, change.key);
  if (!change.value) {
    if (place != file.entries.end()) file.entries.erase(place);
    return {};
  }
  if (change.key == kPaddingKey) return refused(ErrorCode::invalid_argument, "is reserved", change.key);
  if (change.key.empty() || change.key.size() > kMaxName) {
    return refused(ErrorCode::invalid_argument, fmt::format("a key has 1 to {} bytes", kMaxName), change.key);
  }
  if (!well_formed(*change.value)) {
    return refused(ErrorCode::invalid_argument, "the bytes of the new value do not fit its type", change.key);
  }
  if (place != file.entries.end()) {
    place->value = *change.value;
  } else {
    file.entries.push_back({change.key, *change.value});
  }
  return {};
}

// Relabelling can run into keys that the file has under the new label already, and into ours: "general" is a prefix
// like any other.
Result<void> check_keys(const GgufFile& old, const GgufFile& file) {
  const GgufValue* before = old.find(kAlignmentKey);
  const GgufValue* after = file.find(kAlignmentKey);
  if ((before == nullptr) != (after == nullptr) || (before != nullptr && *before != *after) ||
      file.find(kPaddingKey) != nullptr) {
    return refused(ErrorCode::inconsistent, "the new architecture is no label for a model", kArchitectureKey);
  }
  std::vector<std::string_view> keys;
  for (const GgufEntry& entry : file.entries) keys.emplace_back(entry.key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return {};
  return refused(ErrorCode::inconsistent, "the relabelled file would have this key twice", *twice);
}

// The number of tensors in all shards stands in the first; keeps its type.
void count_tensors(GgufFile& file, std::size_t before) {
  const auto place = position_of(file.entries, kSplitTensors);
  if (place == file.entries.end() || before == file.tensors.size()) return;
  const std::optional<std::uint64_t> count = place->value.count();
  if (!count) return;
  const std::uint64_t total = *count + file.tensors.size() - before;
  std::string bytes;
  put(bytes, total);
  bytes.resize(place->value.bytes().size());
  place->value = GgufValue(place->value.type(), std::move(bytes));
}

// ---- Tensors -------------------------------------------------------------------------------------------------------

Result<void> remove_tensors(GgufFile& file, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (file.find_tensor(name) == nullptr)
      return refused(ErrorCode::invalid_argument, "no such tensor to remove", name);
  }
  const auto removed = [&](const GgufTensor& t) {
    return std::find(names.begin(), names.end(), t.name) != names.end();
  };
  const auto first = std::find_if(file.tensors.begin(), file.tensors.end(), removed);
  if (!std::all_of(first, file.tensors.end(), removed)) {
    return refused(ErrorCode::unsupported, "only the last tensors of a file can be removed", first->name);
  }
  file.tensors.erase(first, file.tensors.end());
  return {};
}

Result<void> add_tensor(GgufFile& file, const GgufEdits::NewTensor& tensor) {
  const std::uint64_t count = tensor.values.size();
  if (tensor.name.empty() || tensor.name.size() > kMaxNewName) {
    return refused(ErrorCode::invalid_argument, fmt::format("a tensor's name has 1 to {} bytes", kMaxNewName),
                   tensor.name);
  }
  if (count == 0) return refused(ErrorCode::invalid_argument, "a tensor without values", tensor.name);
  if (const GgufTensor* old = file.find_tensor(tensor.name)) {
    if (old->type == kF32 && old->bytes == count * sizeof(float)) return {};
    const TensorType* type = tensor_type(old->type);
    return refused(ErrorCode::inconsistent,
                   fmt::format("exists as {} of {} bytes and cannot become f32 of {} bytes",
                               type != nullptr ? type->name : "an unknown type", old->bytes, count * sizeof(float)),
                   tensor.name);
  }
  file.tensors.push_back({.name = tensor.name,
                          .shape = {count},
                          .type = kF32,
                          .offset = padded(data_end(file), file.alignment),
                          .bytes = count * sizeof(float)});
  return {};
}

Result<void> add_tensors(GgufFile& file, const std::vector<GgufEdits::NewTensor>& tensors) {
  for (auto tensor = tensors.begin(); tensor != tensors.end(); ++tensor) {
    const auto same = [&](const GgufEdits::NewTensor& other) { return other.name == tensor->name; };
    if (std::any_of(tensors.begin(), tensor, same)) {
      return refused(ErrorCode::invalid_argument, "given twice", tensor->name);
    }
    if (const auto ok = add_tensor(file, *tensor); !ok) return ok.error();
  }
  return {};
}

// ---- The end of the file -------------------------------------------------------------------------------------------

// Where a file ends, in the terms of TailNote, if that is before the padding of what it ends with.
std::optional<std::uint64_t> short_end(const GgufFile& file) {
  const std::uint64_t header = unpadded_header_size(file);
  const std::uint64_t content = file.tensors.empty() ? header : data_end(file);
  const std::uint64_t size = file.tensors.empty() ? file.file_size : data_size(file);
  if (size < content || size >= padded(content, file.alignment)) return std::nullopt;
  return file.tensors.empty() ? size - header : size;
}

// Whether the last tensor can have ended there. Of an unknown type only the offset is certain.
bool possible_end(const GgufFile& file, std::uint64_t end) {
  if (file.tensors.empty()) return end < file.alignment;
  const GgufTensor& last = file.tensors.back();
  const std::uint64_t least = last.offset + (tensor_type(last.type) != nullptr ? last.bytes : 0);
  return end >= least && end <= padded(last.offset + last.bytes, file.alignment);
}

// Tensors of unknown type reach to the next one, or to the end of the data.
void stretch_unknown(GgufFile& file) {
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    GgufTensor& tensor = file.tensors[i];
    if (tensor_type(tensor.type) != nullptr) continue;
    tensor.bytes = (i + 1 < file.tensors.size() ? file.tensors[i + 1].offset : data_size(file)) - tensor.offset;
  }
}

// Sizes and offsets of `now`, whose lists are final. `kept_tensors`: how many of the old ones stay.
Result<void> settle(const GgufFile& old, std::size_t kept_tensors, Edited& now) {
  GgufFile& file = now.file;
  const bool appended = file.tensors.size() > kept_tensors;
  const bool removed = kept_tensors < old.tensors.size();
  const std::uint64_t old_size = data_size(old);
  std::optional<std::uint64_t> end = short_end(old);
  std::uint64_t size = old_size;
  now.kept = old_size;

  if (appended || removed) {
    const std::uint64_t room = padded(data_end(old), old.alignment);
    if (old_size > room) {
      return Error{ErrorCode::unsupported,
                   fmt::format("{} bytes follow the last tensor; tensors cannot be added or removed before them",
                               old_size - room),
                   old.path};
    }
    if (appended && !removed && !now.note && end) now.note = TailNote{old.tensors.size(), *end};
    if (now.note && now.note->tensors > kept_tensors) now.note.reset();
    end.reset();
    size = padded(data_end(file), file.alignment);
    now.kept = std::min(old_size, kept_tensors < old.tensors.size() ? old.tensors[kept_tensors].offset : room);
    if (!appended && now.note && now.note->tensors == kept_tensors && possible_end(file, now.note->end)) {
      end = now.note->end;
      now.note.reset();
      if (kept_tensors > 0) size = now.kept = *end;
    }
  }
  const std::uint64_t header = unpadded_header_size(file);
  file.data_offset = padded(header, file.alignment);
  if (file.tensors.empty() && end) file.data_offset = std::min(file.data_offset, header + *end);
  file.file_size = file.data_offset + size;
  if (header != unpadded_header_size(old)) file.padding.clear();
  stretch_unknown(file);
  return {};
}

Result<void> check_size(const GgufFile& file) {
  if (file.data_offset <= kMaxGgufHeader && file.entries.size() <= kMaxEntries && file.tensors.size() <= kMaxTensors) {
    return {};
  }
  return Error{ErrorCode::unsupported, "the edited header would be larger than we can read back", file.path};
}

}  // namespace

std::string to_text(const TailNote& note) { return fmt::format("tail {} {}", note.tensors, note.end); }

std::optional<TailNote> tail_note(const GgufValue& padding) {
  const std::string_view text = padding.text().value_or(std::string_view());
  const std::vector<std::string_view> words = base::split(text.substr(0, 64), ' ');
  if (words.size() < 3 || words[0] != "tail") return std::nullopt;
  TailNote note;
  for (const auto& [word, into] : {std::pair(words[1], &note.tensors), std::pair(words[2], &note.end)}) {
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), *into);
    if (failed != std::errc() || end != word.data() + word.size()) return std::nullopt;
  }
  return note;
}

Result<Edited> apply_edits(const GgufFile& file, const GgufEdits& edits) {
  if (edits.empty()) return Edited{file, data_size(file), std::nullopt};
  Edited now{file, 0, std::nullopt};
  if (const auto padding = position_of(now.file.entries, kPaddingKey); padding != now.file.entries.end()) {
    now.note = tail_note(padding->value);
    now.file.entries.erase(padding);
  }
  if (edits.architecture) {
    if (const auto ok = relabel(now.file, *edits.architecture); !ok) return ok.error();
  }
  if (const auto ok = remove_tensors(now.file, edits.removed_tensors); !ok) return ok.error();
  const std::size_t kept_tensors = now.file.tensors.size();
  if (const auto ok = add_tensors(now.file, edits.tensors); !ok) return ok.error();
  count_tensors(now.file, file.tensors.size());
  for (const GgufEdits::Change& change : edits.changes) {
    if (const auto ok = formats::change(now.file, change); !ok) return ok.error();
  }
  if (const auto ok = check_keys(file, now.file); !ok) return ok.error();
  if (const auto ok = settle(file, kept_tensors, now); !ok) return ok.error();
  if (const auto ok = check_size(now.file); !ok) return ok.error();
  return now;
}

void fit_header(Edited& now, std::uint64_t anchor, std::uint64_t unit) {
  GgufFile& file = now.file;
  const std::uint64_t natural = file.data_offset;
  std::uint64_t end = anchor % unit + (natural - std::min(natural, anchor % unit) + unit - 1) / unit * unit;
  if (end == natural && !now.note) return;
  std::string text = now.note ? to_text(*now.note) : std::string();
  const std::uint64_t least = unpadded_header_size(file) + 8 + kPaddingKey.size() + 4 + 8 + text.size();
  while (end < least) end += unit;
  text.resize(text.size() + static_cast<std::size_t>(end - least), ' ');
  file.entries.push_back({std::string(kPaddingKey), GgufValue::text(text)});
  file.data_offset = end;
  file.file_size += end - natural;
}

}  // namespace formats

Result<GgufFile> edited(const GgufFile& file, const GgufEdits& edits) {
  Result<formats::Edited> now = formats::apply_edits(file, edits);
  if (!now) return now.error();
  return std::move(now->file);
}

}  // namespace mrrope

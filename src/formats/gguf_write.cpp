// SPDX-License-Identifier: MIT
#include "formats/gguf_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "files/copy.h"
#include "formats/gguf_bytes.h"
#include "formats/gguf_edit.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_split.h"
#include "mrrope/version.h"

namespace mrrope {

namespace formats {

namespace {

constexpr std::string_view kWriterKey = "mrrope.version";  // as in provenance.cpp

// The files that will exist: the target itself, or one per shard, named after it.
Result<std::vector<std::string>> target_paths(const GgufModel& model, const std::string& target) {
  const std::size_t count = model.shards.size();
  if (count == 1) return std::vector{target};
  const std::optional<ShardName> name = shard_name(target);
  if (!name || name->number != 1 || name->count != count) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("the model has {} shards, so the name of the copy must end in {}", count, shard_path("", 1, count)),
        target};
  }
  std::vector<std::string> paths;
  for (std::size_t i = 1; i <= count; ++i) paths.push_back(shard_path(name->prefix, i, count));
  return paths;
}

// An Error if one of them is the model itself, or taken.
Result<void> check_paths(const GgufModel& model, const std::vector<std::string>& targets, bool overwrite) {
  for (const std::string& target : targets) {
    const std::optional<base::FileIdentity> identity = base::identity_of(target);
    if (!identity) continue;
    for (const GgufFile& shard : model.shards) {
      if (base::identity_of(shard.path) == identity) {
        return Error{ErrorCode::invalid_argument,
                     "this is the model itself (" + shard.path + "), not a place for a copy", target};
      }
    }
  }
  // Shards cannot be replaced in one step: what is interrupted would leave shards of two models that load as one
  if (targets.size() > 1 && base::is_taken(targets.front())) {
    return Error{ErrorCode::inconsistent,
                 "a split model is there, and is not replaced; remove it, or take another name", targets.front()};
  }
  for (const std::string& target : targets) {
    if (const auto ok = base::check_free(target, overwrite); !ok) return ok.error();
  }
  return {};
}

Result<void> write_values(base::File& file, const GgufFile& header, std::span<const GgufEdits::NewTensor> tensors) {
  for (const GgufEdits::NewTensor& tensor : tensors) {
    const std::uint64_t offset = header.data_offset + header.find_tensor(tensor.name)->offset;
    if (const auto ok = file.write_at(offset, std::as_bytes(std::span(tensor.values))); !ok) return ok.error();
  }
  return file.resize(header.file_size);  // the padding of the last tensor
}

// A shard to copy from, as it was when it was opened.
struct Source {
  base::File file;
  base::FileStatus status;
};

Result<Source> open_source(const GgufFile& shard) {
  Result<base::File> file = base::File::open(shard.path, base::File::Access::read);
  if (!file) return file.error();
  const Result<base::FileStatus> status = file->status();
  if (!status) return status.error();
  if (const auto ok = check_unchanged(*file, shard); !ok) return ok.error();
  return Source{std::move(*file), *status};
}

// A source that is written to while it is copied gives a copy of neither what it was nor what it is.
Result<void> check_still(const Source& source) {
  const Result<base::FileStatus> now = source.file.status();
  if (!now) return now.error();
  if (*now == source.status) return {};
  return Error{ErrorCode::inconsistent, "the file was changed while it was copied, so the copy was given up; try again",
               source.file.path()};
}

// Data that keeps its place within a block can be shared with the source where the file system does that, and is copied
// faster where it does not. Only in files that carry our keys anyway: anybody else gets exactly the edits asked for.
Result<void> keep_alignment(const GgufFile& old, const GgufEdits& edits, const base::File& target, Edited& now) {
  const bool ours = std::any_of(edits.changes.begin(), edits.changes.end(),
                                [](const GgufEdits::Change& c) { return c.value && c.key.starts_with("mrrope."); });
  if (!ours || now.kept == 0) return {};
  const Result<std::uint64_t> block = target.block_size();
  if (!block) return block.error();
  fit_header(now, old.data_offset, std::max(*block, old.alignment));
  if (now.file.data_offset <= kMaxGgufHeader) return {};
  return Error{ErrorCode::unsupported, "the edited header would be larger than we can read back", old.path};
}

Result<void> write_model(const GgufModel& model, const GgufEdits& edits, const std::string& target,
                         const WriteOptions& options) {
  const Result<std::vector<std::string>> targets = target_paths(model, target);
  if (!targets) return targets.error();
  if (const auto ok = check_paths(model, *targets, options.overwrite); !ok) return ok.error();
  if (const auto ok = check_shards(model, edits); !ok) return ok.error();

  std::vector<Edited> edited;
  std::vector<Source> sources;
  std::vector<base::PendingFile> pending;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < targets->size(); ++i) {
    Result<Edited> now = apply_edits(model.shards[i], i == 0 ? edits : GgufEdits{});
    if (!now) return now.error();
    Result<Source> source = open_source(model.shards[i]);
    if (!source) return source.error();
    Result<base::PendingFile> file =
        base::PendingFile::create((*targets)[i], options.overwrite && (i > 0 || targets->size() == 1));
    if (!file) return file.error();
    file->take_mode(source->status);  // what others may not read they may not read in a copy
    if (i == 0) {
      if (const auto ok = keep_alignment(model.head(), edits, file->file(), *now); !ok) return ok.error();
    }
    total += now->kept;
    edited.push_back(std::move(*now));
    sources.push_back(std::move(*source));
    pending.push_back(std::move(*file));
  }
  base::Progress progress(options.progress, total);
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const std::span<const GgufEdits::NewTensor> tensors = i == 0 ? std::span(edits.tensors) : decltype(tensors){};
    if (const auto ok = write_shard(sources[i].file, model.shards[i], edited[i], tensors, pending[i].file(), progress);
        !ok)
      return ok.error();
  }
  for (const Source& source : sources) {
    if (const auto ok = check_still(source); !ok) return ok.error();
  }
  // The first shard last: a model whose first shard is there is complete.
  for (std::size_t i = pending.size(); i-- > 0;) {
    if (const auto ok = pending[i].commit(); !ok) return ok.error();
  }
  return {};
}

// Keys and tensors of a second shard; llama.cpp compares split.no with the position (llama-model-loader.cpp:620), and
// reads no other key of it.
Result<Edited> sidecar(const GgufEdits& wanted) {
  const auto u16 = [](std::uint16_t value) {
    std::string bytes;
    put(bytes, value);
    return GgufValue(GgufType::u16, std::move(bytes));
  };
  GgufFile empty;
  empty.data_offset = empty.file_size = padded(unpadded_header_size(empty), empty.alignment);
  GgufEdits edits;
  edits.set(std::string(kSplitNo), u16(1));
  edits.set(std::string(kSplitCount), u16(2));
  edits.set(std::string(kWriterKey), GgufValue::text(MRROPE_VERSION));
  for (const GgufEdits::Change& change : wanted.changes) {
    if (change.value) edits.changes.push_back(change);
  }
  edits.tensors = wanted.tensors;
  return apply_edits(empty, edits);
}

}  // namespace

Result<void> write_shard(const base::File& source, const GgufFile& old, const Edited& now,
                         std::span<const GgufEdits::NewTensor> tensors, base::File& out, base::Progress& progress) {
  const std::string header = encode_gguf_header(now.file);
  if (const auto ok = out.write_at(0, base::bytes_of(header)); !ok) return ok.error();
  if (const auto ok = base::copy_range(source, old.data_offset, now.kept, out, now.file.data_offset, progress); !ok)
    return ok.error();
  return write_values(out, now.file, tensors);
}

Result<void> check_unchanged(const base::File& source, const GgufFile& file) {
  const Error changed{ErrorCode::inconsistent, "the file has changed since it was read", file.path};
  const Result<std::uint64_t> size = source.size();
  if (!size) return size.error();
  if (*size != file.file_size) return changed;
  const std::string expected = encode_gguf_header(file);
  std::string found(expected.size(), '\0');
  if (const auto ok = source.read_all_at(0, base::bytes_of(found)); !ok) return ok.error();
  if (found != expected) return changed;
  return {};
}

Result<void> check_shards(const GgufModel& model, const GgufEdits& edits) {
  const auto in_others = [&](const std::string& name) {
    return std::any_of(model.shards.begin() + 1, model.shards.end(),
                       [&](const GgufFile& shard) { return shard.find_tensor(name) != nullptr; });
  };
  const auto refuse = [&](const std::string& name) {
    return Error{ErrorCode::unsupported, "this tensor is not in the first shard, which is the only one that is changed",
                 printable(name)};
  };
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    if (in_others(tensor.name)) return refuse(tensor.name);
  }
  for (const std::string& name : edits.removed_tensors) {
    if (in_others(name)) return refuse(name);
  }
  return {};
}

Result<void> check_target(const GgufModel& model, const std::string& target, bool overwrite) {
  const Result<std::vector<std::string>> targets = target_paths(model, target);
  if (!targets) return targets.error();
  return check_paths(model, *targets, overwrite);
}

}  // namespace formats

Result<void> write_gguf(const GgufModel& model, const GgufEdits& edits, const std::string& target,
                        const WriteOptions& options) {
  return formats::write_model(model, edits, target, options);
}

Result<void> write_gguf_sidecar(const GgufEdits& edits, const std::string& target, const WriteOptions& options) {
  if (edits.tensors.empty()) return Error{ErrorCode::invalid_argument, "a sidecar without tensors", target};
  const Result<formats::Edited> file = formats::sidecar(edits);
  if (!file) return file.error();
  Result<base::PendingFile> out = base::PendingFile::create(target, options.overwrite);
  if (!out) return out.error();
  const std::string header = encode_gguf_header(file->file);
  if (const auto ok = out->file().write_at(0, base::bytes_of(header)); !ok) return ok.error();
  if (const auto ok = formats::write_values(out->file(), file->file, edits.tensors); !ok) return ok.error();
  return out->commit();
}

}  // namespace mrrope

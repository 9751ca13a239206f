// SPDX-License-Identifier: MIT
//
// The order of a change, each step on disk before the next:
//
//   1. the journal, phase planned
//   2. the shift: a range inserted at or taken from the front, so that the data stays in its blocks
//   3. phase shifted
//   4. the new header, new and replaced tensors, the new size
//   5. the journal is gone
//
// gguf_recover.cpp goes back from any point between them.
#include "formats/gguf_in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/file.h"
#include "formats/gguf_edit.h"
#include "formats/gguf_effects.h"
#include "formats/gguf_journal.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_recover.h"
#include "formats/gguf_state.h"
#include "formats/gguf_write.h"
#include "formats/open_elsewhere.h"

namespace mrrope {

namespace formats {

namespace {

Result<Edited> plan(const GgufModel& model, const GgufEdits& edits, const base::File& file) {
  const GgufFile& old = model.head();
  if (auto error = check_shards(model, edits)) return *error;
  Result<Edited> now = apply_edits(old, edits);
  if (!now) return now.error();
  if (old.padding != now->file.padding) {
    return Error{ErrorCode::unsupported, "unknown bytes between header and data would be lost; write a copy instead",
                 old.path};
  }
  const Result<std::uint64_t> block = file.block_size();
  if (!block) return block.error();
  if (now->kept > 0) {
    fit_header(*now, old.data_offset, std::max(*block, old.alignment));
  } else if (now->note) {
    fit_header(*now, 0, old.alignment);  // nothing has to stay where it is, but the note needs its key
  }
  if (now->file.data_offset > kMaxGgufHeader) {
    return Error{ErrorCode::unsupported, "the edited header would be larger than we can read back", old.path};
  }
  return now;
}

// Everything that the change destroys.
std::vector<Region> endangered(const GgufFile& old, const Edited& now, const GgufEdits& edits) {
  std::vector<Region> regions = {{0, old.data_offset}};
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    const GgufTensor* place = now.file.find_tensor(tensor.name);
    if (place->offset < now.kept) regions.push_back({old.data_offset + place->offset, place->bytes});
  }
  if (now.kept < data_size(old)) regions.push_back({old.data_offset + now.kept, data_size(old) - now.kept});
  std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.offset < b.offset; });
  return regions;
}

// Everything that it writes.
std::vector<Write> written(const Edited& now, const std::string& header, const GgufEdits& edits) {
  std::vector<Write> writes = {{0, base::bytes_of(header)}};
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    const std::uint64_t offset = now.file.data_offset + now.file.find_tensor(tensor.name)->offset;
    writes.push_back({offset, std::as_bytes(std::span(tensor.values))});
  }
  std::sort(writes.begin(), writes.end(), [](const Write& a, const Write& b) { return a.offset < b.offset; });
  return writes;
}

std::optional<Error> change(Effects& effects, Journal& journal, const std::vector<Write>& writes) {
  if (auto error = effects.shift(journal.head().shift)) return error;
  if (auto error = effects.set_phase(journal, Phase::shifted)) return error;
  for (const Write& write : writes) {
    if (auto error = effects.write(write.offset, write.bytes)) return error;
  }
  if (auto error = effects.resize(journal.head().new_size)) return error;
  return effects.sync();
}

// A change shows under all names of a file, and only one of them shows the journal.
std::optional<Error> check_names(const base::File& file, bool force) {
  const Result<base::FileStatus> status = file.status();
  if (!status) return status.error();
  if (status->links <= 1 || force) return std::nullopt;
  return Error{
      ErrorCode::inconsistent,
      fmt::format("the file has {} names (hard links), and would change under all of them. Write a copy; or, if "
                  "that is meant, change it with -f",
                  status->links),
      file.path()};
}

// Others who read the file, or who may: `force` says that there are none, or that they are meant.
std::optional<Error> check_readers(const base::File& file, bool force) {
  const Use use = use_elsewhere(file);
  if (use == Use::open) {
    return Error{ErrorCode::io, "the file is open in another program, which must be ended before the file is changed",
                 file.path()};
  }
  if (use == Use::unknown && !force) {
    return Error{ErrorCode::io,
                 "another program may have the file open and would read shifted weights; you are not its owner, and "
                 "cannot see what others have open. Run this as its owner; or, if nobody uses the file, with -f",
                 file.path()};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_in_place(const std::string& path, const InPlaceOptions& options) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  return check_names(*file, options.force);
}

std::optional<Error> edit_in_place(const GgufModel& model, const GgufEdits& edits, const Steps& steps,
                                   const InPlaceOptions& options) {
  if (edits.empty()) return std::nullopt;
  const GgufFile& old = model.head();
  Result<base::File> file = base::File::open(old.path, base::File::Access::read_write);
  if (!file) return file.error();
  if (auto error = lock(*file)) return error;
  const std::string path = journal_path(old.path);
  if (auto error = check_no_journal(old.path)) return error;
  if (auto error = check_names(*file, options.force)) return error;
  if (auto error = check_readers(*file, options.force)) return error;
  if (auto error = check_unchanged(*file, old)) return error;
  const Result<Edited> now = plan(model, edits, *file);
  if (!now) return now.error();

  const std::int64_t shift = now->kept > 0 ? static_cast<std::int64_t>(now->file.data_offset - old.data_offset) : 0;
  const std::string header = encode_gguf_header(now->file);
  const std::vector<Region> regions = endangered(old, *now, edits);
  const std::vector<Write> writes = written(*now, header, edits);
  const Result<std::optional<std::uint64_t>> kept = kept_hash(*file, old.file_size, regions, 0);
  if (!kept) return kept.error();
  const JournalHead head{old.file_size, now->file.file_size, shift, kept->value_or(0)};
  Effects effects(*file, steps);
  if (auto error = effects.step()) return error;
  Result<Journal> journal = Journal::create(path, head, regions, writes, *file);
  if (!journal) return journal.error();

  std::optional<Error> failed = change(effects, *journal, writes);
  if (effects.stopped()) return failed;
  if (!failed) return effects.remove(*journal);
  if (auto error = undo_and_remove(effects, *journal, *file)) {
    failed->message += "; undoing the change failed too (" + to_string(*error) + "), so that it has to be recovered";
  }
  return failed;
}

}  // namespace formats

std::optional<Error> edit_gguf_in_place(const GgufModel& model, const GgufEdits& edits, const InPlaceOptions& options) {
  return formats::edit_in_place(model, edits, {}, options);
}

}  // namespace mrrope

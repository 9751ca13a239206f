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

#include "files/file.h"
#include "files/in_place.h"
#include "files/open_elsewhere.h"
#include "formats/gguf_edit.h"
#include "formats/gguf_effects.h"
#include "formats/gguf_journal.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_recover.h"
#include "formats/gguf_replace.h"
#include "formats/gguf_state.h"
#include "formats/gguf_write.h"

namespace mrrope {

namespace formats {

Result<Edited> plan_in_place(const GgufModel& model, const GgufEdits& edits, const base::File& file) {
  const GgufFile& old = model.head();
  if (const auto ok = check_shards(model, edits); !ok) return ok.error();
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

namespace {

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

Result<void> change(Effects& effects, Journal& journal, const std::vector<Write>& writes) {
  if (const auto ok = effects.shift(journal.head().shift); !ok) return ok.error();
  if (const auto ok = effects.set_phase(journal, Phase::shifted); !ok) return ok.error();
  for (const Write& write : writes) {
    if (const auto ok = effects.write(write.offset, write.bytes); !ok) return ok.error();
  }
  if (const auto ok = effects.resize(journal.head().new_size); !ok) return ok.error();
  return effects.sync();
}

// A change shows under all names of a file, and only one of them shows the journal.
Result<void> check_names(const base::File& file, bool force) {
  const Result<base::FileStatus> status = file.status();
  if (!status) return status.error();
  if (status->links <= 1 || force) return {};
  return Error{
      ErrorCode::inconsistent,
      fmt::format("the file has {} names (hard links), and would change under all of them. Write a copy, or force it",
                  status->links),
      file.path(), "force"};
}

// Others who read the file, or who may: `force` says that there are none, or that they are meant.
Result<void> check_readers(const base::File& file, bool force) {
  const base::Use use = base::use_elsewhere(file);
  if (use == base::Use::open) {
    return Error{ErrorCode::io, "the file is open in another program, which must be ended before the file is changed",
                 file.path()};
  }
  if (use == base::Use::unknown && !force) {
    return Error{ErrorCode::io,
                 "another program may have the file open and would read shifted weights; you are not its owner, and "
                 "cannot see what others have open. Run this as its owner; or, if nobody uses the file, force it",
                 file.path(), "force"};
  }
  return {};
}

}  // namespace

Result<void> check_in_place(const std::string& path, const InPlaceOptions& options) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  if (!file) return file.error();
  return check_names(*file, options.force);
}

Result<void> edit_in_place(const GgufModel& model, const GgufEdits& edits, const Steps& steps,
                           const InPlaceOptions& options) {
  if (edits.empty()) return {};
  const GgufFile& old = model.head();
  Result<base::File> file = base::File::open(old.path, base::File::Access::read_write);
  if (!file) return file.error();
  if (const auto ok = lock(*file); !ok) return ok.error();
  const std::string path = journal_path(old.path);
  if (const auto ok = check_no_journal(old.path); !ok) return ok.error();
  if (const auto ok = check_names(*file, options.force); !ok) return ok.error();
  if (const auto ok = check_readers(*file, options.force); !ok) return ok.error();
  if (const auto ok = check_unchanged(*file, old); !ok) return ok.error();
  const Result<Edited> now = plan_in_place(model, edits, *file);
  if (!now) return now.error();

  const std::int64_t shift = now->kept > 0 ? static_cast<std::int64_t>(now->file.data_offset - old.data_offset) : 0;
  const std::string header = encode_gguf_header(now->file);
  const std::vector<Region> regions = endangered(old, *now, edits);
  const std::vector<Write> writes = written(*now, header, edits);
  const Result<std::optional<std::uint64_t>> kept = kept_hash(*file, old.file_size, regions, 0);
  if (!kept) return kept.error();
  const JournalHead head{old.file_size, now->file.file_size, shift, kept->value_or(0)};
  Effects effects(*file, steps);
  if (const auto ok = effects.step(); !ok) return ok.error();
  Result<Journal> journal = Journal::create(path, head, regions, writes, *file);
  if (!journal) return journal.error();

  Result<void> changed = change(effects, *journal, writes);
  if (effects.stopped()) return changed;
  if (changed) return effects.remove(*journal);
  if (const auto ok = undo_and_remove(effects, *journal, *file); !ok) {
    Error both = changed.error();
    both.message += "; undoing the change failed too (" + to_string(ok.error()) + "), so that it has to be recovered";
    return both;
  }
  return changed;
}

}  // namespace formats

Result<void> edit_gguf_in_place(const GgufModel& model, const GgufEdits& edits, const InPlaceOptions& options) {
  return base::can_shift_front() ? formats::edit_in_place(model, edits, {}, options)
                                 : formats::replace_edited(model, edits, options);
}

}  // namespace mrrope

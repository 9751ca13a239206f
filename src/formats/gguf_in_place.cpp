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

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>
#include <vector>

#include "base/file.h"
#include "formats/gguf_edit.h"
#include "formats/gguf_effects.h"
#include "formats/gguf_journal.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_recover.h"
#include "formats/gguf_write.h"

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
  return regions;
}

std::optional<Error> change(Effects& effects, Journal& journal, const Edited& now, const std::string& header,
                            const GgufEdits& edits) {
  if (auto error = effects.shift(journal.head().shift)) return error;
  if (auto error = effects.set_phase(journal, Phase::shifted)) return error;
  if (auto error = effects.write(0, base::bytes_of(header))) return error;
  for (const GgufEdits::NewTensor& tensor : edits.tensors) {
    const std::uint64_t offset = now.file.data_offset + now.file.find_tensor(tensor.name)->offset;
    if (auto error = effects.write(offset, std::as_bytes(std::span(tensor.values)))) return error;
  }
  if (auto error = effects.resize(now.file.file_size)) return error;
  return effects.sync();
}

// A program that has the model open or mapped would read shifted weights. A write lease is granted only if nobody else
// has; it is given back at once. File systems without leases do not tell.
std::optional<Error> refuse_open_elsewhere(const base::File& file) {
  (void)::fcntl(file.descriptor(), F_SETSIG, SIGURG);  // not SIGIO, which would end the process
  const bool busy = ::fcntl(file.descriptor(), F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
  (void)::fcntl(file.descriptor(), F_SETLEASE, F_UNLCK);
  if (!busy) return std::nullopt;
  return Error{ErrorCode::io, "the file is open in another program, which must be ended before the file is changed",
               file.path()};
}

}  // namespace

std::optional<Error> edit_in_place(const GgufModel& model, const GgufEdits& edits, const Steps& steps) {
  if (edits.empty()) return std::nullopt;
  const GgufFile& old = model.head();
  Result<base::File> file = base::File::open(old.path, base::File::Access::read_write);
  if (!file) return file.error();
  if (auto error = lock(*file)) return error;
  const std::string path = journal_path(old.path);
  if (base::identity_of(path)) {
    return Error{ErrorCode::inconsistent, "an earlier change of this file was interrupted: recover it first", old.path};
  }
  if (auto error = refuse_open_elsewhere(*file)) return error;
  if (auto error = check_unchanged(*file, old)) return error;
  const Result<Edited> now = plan(model, edits, *file);
  if (!now) return now.error();

  const Result<base::FileIdentity> identity = file->identity();
  if (!identity) return identity.error();
  const std::int64_t shift = now->kept > 0 ? static_cast<std::int64_t>(now->file.data_offset - old.data_offset) : 0;
  const JournalHead head{identity->inode, old.file_size, now->file.file_size, shift};
  const std::string header = encode_gguf_header(now->file);
  Effects effects(*file, steps);
  if (auto error = effects.step()) return error;
  Result<Journal> journal = Journal::create(path, head, endangered(old, *now, edits), *file);
  if (!journal) return journal.error();

  std::optional<Error> failed = change(effects, *journal, *now, header, edits);
  if (effects.stopped()) return failed;
  if (!failed) return effects.remove(*journal);
  if (auto error = undo_and_remove(effects, *journal, *file)) {
    failed->message += "; undoing the change failed too (" + to_string(*error) + "), so that it has to be recovered";
  }
  return failed;
}

}  // namespace formats

std::optional<Error> edit_gguf_in_place(const GgufModel& model, const GgufEdits& edits) {
  return formats::edit_in_place(model, edits, {});
}

}  // namespace mrrope

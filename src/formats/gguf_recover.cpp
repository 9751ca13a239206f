// SPDX-License-Identifier: MIT
//
// Undoing goes back the way the change came (gguf_in_place.cpp): size and bytes, phase planned, the shift, the bytes
// that it could not keep, the journal. Interrupted at whatever step, undoing again from there gives the old bytes.
//
// Whether the file is shifted is seen from where the old header is, not from the size: a process that is killed inside
// xfs's fallocate leaves a file that is shifted but has its old size, or the reverse (faults_test.py found it). That a
// shift is not half done after a power failure is the file system's promise, not ours.
#include "formats/gguf_recover.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "formats/gguf_parse.h"
#include "mrrope/gguf.h"

namespace mrrope {

namespace formats {

namespace {

// Whether the file is the old one, byte for byte where the change would have touched it.
Result<bool> is_old(const base::File& file, const Journal& journal) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.error();
  if (*size != journal.head().old_size) return false;
  for (std::size_t i = 0; i < journal.regions().size(); ++i) {
    Result<bool> same = journal.matches(file, i, 0, 0);
    if (!same || !*same) return same;
  }
  return true;
}

// Whether the old header, which is region 0, is `displacement` from where it was, as far as a shift leaves it.
Result<bool> header_is_at(const base::File& file, const Journal& journal, std::int64_t displacement) {
  const std::int64_t shift = journal.head().shift;
  return journal.matches(file, 0, shift < 0 ? static_cast<std::uint64_t>(-shift) : 0, displacement);
}

Error unexpected(const base::File& file, const Journal& journal) {
  return {ErrorCode::inconsistent,
          "no step of the interrupted change leaves the file as it is: it has been changed since, and the journal " +
              journal.path() + " is not applied",
          file.path()};
}

// From phase shifted to phase planned: all bytes as the shift left them.
std::optional<Error> undo_bytes(Effects& effects, Journal& journal, const base::File& file,
                                std::uint64_t shifted_size) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.error();
  const auto [least, most] = std::minmax(shifted_size, journal.head().new_size);
  if (*size < least || *size > most) return unexpected(file, journal);
  if (auto error = effects.resize(shifted_size)) return error;
  if (journal.head().shift > 0) {  // no magic at the front: it cannot be taken for a file that is not shifted
    if (auto error = effects.write(0, base::bytes_of(std::string_view("\0\0\0\0", 4)))) return error;
  }
  if (auto error = effects.restore(journal, journal.head().shift)) return error;
  return effects.set_phase(journal, Phase::planned);
}

std::optional<Error> undo(Effects& effects, Journal& journal, const base::File& file) {
  const JournalHead& head = journal.head();
  const std::uint64_t shifted_size = head.old_size + static_cast<std::uint64_t>(head.shift);
  if (journal.phase() == Phase::shifted) {
    if (auto error = undo_bytes(effects, journal, file, shifted_size)) return error;
  }
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.error();
  if (*size != head.old_size && *size != shifted_size) return unexpected(file, journal);

  const Result<bool> unshifted = header_is_at(file, journal, 0);
  if (!unshifted) return unshifted.error();
  if (!*unshifted) {
    const Result<bool> shifted = header_is_at(file, journal, head.shift);
    if (!shifted) return shifted.error();
    if (!*shifted) return unexpected(file, journal);
    if (auto error = effects.resize(shifted_size)) return error;
    if (auto error = effects.shift(-head.shift)) return error;
  }
  if (auto error = effects.resize(head.old_size)) return error;
  return effects.restore(journal, 0);
}

}  // namespace

std::optional<Error> lock(const base::File& file) {
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return Error{ErrorCode::io, "another process is changing this file", file.path()};
}

std::optional<Error> undo_and_remove(Effects& effects, Journal& journal, const base::File& file) {
  const Result<bool> already = is_old(file, journal);
  if (!already) return already.error();
  if (!*already) {
    const Result<base::FileIdentity> identity = file.identity();
    if (!identity) return identity.error();
    if (identity->inode != journal.head().inode) {
      return Error{ErrorCode::inconsistent,
                   "the journal " + journal.path() +
                       " belongs to another file of this name; if this one is sound, the journal can be deleted",
                   file.path()};
    }
    if (auto error = undo(effects, journal, file)) return error;
  }
  return effects.remove(journal);
}

Result<bool> recover(const std::string& path, const Steps& steps) {
  const std::string journal_file = journal_path(path);
  if (!base::identity_of(journal_file)) return false;
  Result<base::File> file = base::File::open(path, base::File::Access::read_write);
  if (!file) return file.error();
  if (auto error = lock(*file)) return *error;
  if (!base::identity_of(journal_file)) return false;  // its owner has completed the change meanwhile
  Result<Journal> journal = Journal::open(journal_file);
  if (!journal) return journal.error();
  Effects effects(*file, steps);
  if (auto error = undo_and_remove(effects, *journal, *file)) return *error;
  return true;
}

}  // namespace formats

Result<bool> recover_gguf(const std::string& path) { return formats::recover(path, {}); }

}  // namespace mrrope

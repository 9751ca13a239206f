// SPDX-License-Identifier: MIT
//
// Undoing goes back the way the change came (gguf_in_place.cpp): size and bytes, phase planned, the shift, the bytes
// that it could not keep, the journal. Interrupted at whatever step, undoing again from there gives the old bytes.
// That the file is one of this change's is established before (gguf_state.h).
#include "formats/gguf_recover.h"

#include <sys/file.h>

#include <cerrno>
#include <string_view>

#include "formats/gguf_parse.h"
#include "formats/gguf_state.h"
#include "mrrope/gguf.h"

namespace mrrope {

namespace formats {

namespace {

// From phase shifted to phase planned: all bytes as the shift left them.
std::optional<Error> undo_bytes(Effects& effects, Journal& journal) {
  if (auto error = effects.resize(journal.shifted_size())) return error;
  if (journal.head().shift > 0) {  // no magic at the front: it cannot be taken for a file that is not shifted
    if (auto error = effects.write(0, base::bytes_of(std::string_view("\0\0\0\0", 4)))) return error;
  }
  if (auto error = effects.restore(journal, journal.head().shift)) return error;
  return effects.set_phase(journal, Phase::planned);
}

std::optional<Error> undo(Effects& effects, Journal& journal, State state) {
  if (journal.phase() == Phase::shifted) {
    if (auto error = undo_bytes(effects, journal)) return error;
  }
  if (state == State::shifted) {
    if (auto error = effects.resize(journal.shifted_size())) return error;
    if (auto error = effects.shift(-journal.head().shift)) return error;
  }
  if (auto error = effects.resize(journal.head().old_size)) return error;
  return effects.restore(journal, 0);
}

std::optional<Error> lock_as(int kind, const base::File& file) {
  if (::flock(file.descriptor(), kind | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return Error{ErrorCode::io, "another process is changing this file", file.path()};
}

}  // namespace

std::optional<Error> lock(const base::File& file) { return lock_as(LOCK_EX, file); }

std::optional<Error> check_settled(const std::string& path) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  return file ? lock_as(LOCK_SH, *file) : std::nullopt;
}

std::optional<Error> undo_and_remove(Effects& effects, Journal& journal, const base::File& file) {
  const Result<State> state = state_of(file, journal);
  if (!state) return state.error();
  if (*state != State::old) {
    if (auto error = undo(effects, journal, *state)) return error;
  }
  return effects.remove(journal);
}

Result<bool> recover(const std::string& path, const Steps& steps) {
  const std::string journal_file = journal_path(path);
  if (!base::is_taken(journal_file)) return false;
  Result<base::File> file = base::File::open(path, base::File::Access::read_write);
  if (!file) return file.error();
  if (auto error = lock(*file)) return *error;
  if (!base::is_taken(journal_file)) return false;  // its owner has completed the change meanwhile
  const Result<base::FileStatus> status = file->status();
  if (!status) return status.error();
  Result<Journal> journal = Journal::open(journal_file, *status);
  if (!journal) return journal.error();
  Effects effects(*file, steps);
  if (auto error = undo_and_remove(effects, *journal, *file)) return *error;
  return true;
}

}  // namespace formats

Result<bool> recover_gguf(const std::string& path) { return formats::recover(path, {}); }

}  // namespace mrrope

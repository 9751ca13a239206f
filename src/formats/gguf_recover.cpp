// SPDX-License-Identifier: MIT
//
// Undoing goes back the way the change came (gguf_in_place.cpp): size and bytes, phase planned, the shift, the bytes
// that it could not keep, the journal. Interrupted at whatever step, undoing again from there gives the old bytes.
// That the file is one of this change's is established before (gguf_state.h).
#include "formats/gguf_recover.h"

#include <string_view>

#include "files/in_place.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_state.h"
#include "mrrope/gguf.h"

namespace mrrope {

namespace formats {

namespace {

// From phase shifted to phase planned: all bytes as the shift left them.
Result<void> undo_bytes(Effects& effects, Journal& journal) {
  if (const auto ok = effects.resize(journal.shifted_size()); !ok) return ok.error();
  if (journal.head().shift > 0) {  // no magic at the front: it cannot be taken for a file that is not shifted
    if (const auto ok = effects.write(0, base::bytes_of(std::string_view("\0\0\0\0", 4))); !ok) return ok.error();
  }
  if (const auto ok = effects.restore(journal, journal.head().shift); !ok) return ok.error();
  return effects.set_phase(journal, Phase::planned);
}

Result<void> undo(Effects& effects, Journal& journal, State state) {
  if (journal.phase() == Phase::shifted) {
    if (const auto ok = undo_bytes(effects, journal); !ok) return ok.error();
  }
  if (state == State::shifted) {
    if (const auto ok = effects.resize(journal.shifted_size()); !ok) return ok.error();
    if (const auto ok = effects.shift(-journal.head().shift); !ok) return ok.error();
  }
  if (const auto ok = effects.resize(journal.head().old_size); !ok) return ok.error();
  return effects.restore(journal, 0);
}

}  // namespace

Result<void> lock(const base::File& file) { return base::lock_for_change(file); }

Result<void> check_settled(const std::string& path) {
  const Result<base::File> file = base::File::open(path, base::File::Access::read);
  return file ? base::check_nobody_changes(*file) : Result<void>();
}

Result<void> undo_and_remove(Effects& effects, Journal& journal, const base::File& file) {
  const Result<State> state = state_of(file, journal);
  if (!state) return state.error();
  if (*state != State::old) {
    if (const auto ok = undo(effects, journal, *state); !ok) return ok.error();
  }
  return effects.remove(journal);
}

Result<bool> recover(const std::string& path, const Steps& steps) {
  const std::string journal_file = journal_path(path);
  if (!base::is_taken(journal_file)) return false;
  if (!base::can_shift_front()) {
    return Error{ErrorCode::unsupported, "a change in place was interrupted on Linux, and is taken back there", path};
  }
  Result<base::File> file = base::File::open(path, base::File::Access::read_write);
  if (!file) return file.error();
  if (const auto ok = lock(*file); !ok) return ok.error();
  if (!base::is_taken(journal_file)) return false;  // its owner has completed the change meanwhile
  const Result<base::FileStatus> status = file->status();
  if (!status) return status.error();
  Result<Journal> journal = Journal::open(journal_file, *status);
  if (!journal) return journal.error();
  Effects effects(*file, steps);
  if (const auto ok = undo_and_remove(effects, *journal, *file); !ok) return ok.error();
  return true;
}

}  // namespace formats

Result<bool> recover_gguf(const std::string& path) { return formats::recover(path, {}); }

}  // namespace mrrope

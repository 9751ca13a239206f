// SPDX-License-Identifier: MIT
//
// Whether a file is one that an interrupted change can have left: asked before the first byte is put back. The answer
// is in the bytes, not in inodes or names, so that a copy of a model and its journal can be recovered too, and a
// journal of another file cannot do any harm.
#pragma once

#include <cstdint>
#include <span>

#include "files/file.h"
#include "formats/gguf_journal.h"

namespace mrrope::formats {

// Of the data outside the regions, which no step of a change touches, `displacement` from where it was: of all of it,
// or of 64 pieces from the first byte to the last. Nothing if the file is too short.
Result<std::optional<std::uint64_t>> kept_hash(const base::File& file, std::uint64_t old_size,
                                               std::span<const Region> regions, std::int64_t displacement);

enum class State {
  old,        // byte for byte, as far as the change would have touched it
  unshifted,  // but for the end, and for what a shift could not keep
  shifted,    // by head().shift, which may be 0
};

// Errors: inconsistent, if it is none of these. In every state the bytes that recovery will overwrite or cut off are
// old ones, new ones or zeros.
Result<State> state_of(const base::File& file, const Journal& journal);

}  // namespace mrrope::formats

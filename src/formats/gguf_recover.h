// SPDX-License-Identifier: MIT
//
// Taking an interrupted change back (gguf_recover.cpp), for recover_gguf and for a change that fails half-way.
#pragma once

#include <optional>

#include "files/file.h"
#include "formats/gguf_effects.h"
#include "formats/gguf_journal.h"

namespace mrrope::formats {

// An Error if another process is changing the file. Held until the file is closed.
Result<void> lock(const base::File& file);
// The same Error for one who only reads, and who asks because what was read made no sense.
Result<void> check_settled(const std::string& path);

// The old bytes back, and the journal gone. Domain: `file` is locked.
// Errors: the file is none that the change can have left; it is not touched then.
Result<void> undo_and_remove(Effects& effects, Journal& journal, const base::File& file);

}  // namespace mrrope::formats

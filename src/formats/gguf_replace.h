// SPDX-License-Identifier: MIT
//
// A change in place where no file grows at its front: on macOS and Windows.
#pragma once

#include "mrrope/gguf.h"

namespace mrrope::formats {

// Writes the edited file whole beside the old one, compares it with what it is made of, and gives it the old one's name
// in one step: at any moment there is the old file or the new one. The bytes are those of edit_in_place(). It needs
// room for both, which is looked at before the first byte is written. Who has the old file open goes on with it, or, on
// Windows, keeps it from being replaced, which is an Error.
Result<void> replace_edited(const GgufModel& model, const GgufEdits& edits, const InPlaceOptions& options);

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// Edits of a GGUF that llama.cpp is told when it starts, with the file left as it is.
#pragma once

#include <string>

#include "mrrope/gguf.h"
#include "mrrope/result.h"

namespace mrrope::targets {

// Whether flags alone say it: no tensor, no other architecture, no key that would have to go.
bool fits_flags(const GgufEdits& edits);

// An Error if the edits cannot be a second shard.
Result<void> check_fits_sidecar(const GgufModel& model, const GgufEdits& edits);

// What --override-kv takes: "llama.context_length=int:16384,…"; with a second shard also what makes it one.
std::string flags_of(const GgufEdits& edits);
std::string sidecar_flags_of(const GgufModel& model, const GgufEdits& edits);

}  // namespace mrrope::targets

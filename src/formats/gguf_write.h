// SPDX-License-Identifier: MIT
//
// Parts of writing that a copy and a change in place share.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "files/copy.h"
#include "files/file.h"
#include "formats/gguf_edit.h"
#include "mrrope/gguf.h"

namespace mrrope::formats {

// An Error unless the file still is what was read: same size, same header. Edits computed for another file would
// destroy this one.
Result<void> check_unchanged(const base::File& source, const GgufFile& file);

// An Error if the edits name a tensor that another shard holds: only the first is ever changed.
Result<void> check_shards(const GgufModel& model, const GgufEdits& edits);

// One shard: its new header, the data that stays, the new tensors.
Result<void> write_shard(const base::File& source, const GgufFile& old, const Edited& now,
                         std::span<const GgufEdits::NewTensor> tensors, base::File& out, base::Progress& progress);

// An Error if a copy cannot be called `target`: the name does not fit the shards, it is the model itself, or it is
// taken.
Result<void> check_target(const GgufModel& model, const std::string& target, bool overwrite);

}  // namespace mrrope::formats

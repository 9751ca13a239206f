// SPDX-License-Identifier: MIT
//
// Sidecars as files: which are ours, and what they add to their model. targets/extend_sidecar.cpp writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mrrope/gguf.h"
#include "mrrope/model_file.h"
#include "mrrope/result.h"

namespace mrrope::formats {

// What a script of ours is called and begins with.
inline constexpr std::string_view kServeScript = "serve.sh";
inline constexpr std::string_view kScriptStart = "#!/bin/sh\n# Written by mrrope ";

// Whether this is a second shard that write_gguf_sidecar() wrote, whatever it is called.
bool is_sidecar(const std::string& path);

// Whether this is a script of ours that serves the shard `first` (its name, without a folder). Errors: a file that
// cannot be read.
Result<bool> is_script_of(const std::string& path, std::string_view first);

// `text` as every POSIX shell reads it back, byte for byte. Domain: no NUL.
std::string posix_quoted(std::string_view text);

// The first shard of the sidecar that `path` is: a second shard, or a folder that holds one. Nothing: no sidecar.
// Errors: several in one folder.
Result<std::optional<std::string>> first_shard_of(const std::string& path);

// The sidecar beside a model that stands as a first shard. Nothing: there is none. Errors: a shard that says it is ours
// and holds what we never write.
Result<std::optional<Sidecar>> sidecar_of(const GgufModel& model);

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// The parser behind read_gguf_file and parse_gguf, for those who share a budget or check a value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/file.h"
#include "formats/gguf_cursor.h"
#include "mrrope/gguf.h"

namespace mrrope::formats {

// A header of at most `budget` bytes: the shards of a model share kMaxGgufHeader.
Result<GgufFile> read_header(const std::string& path, std::uint64_t budget);

// The bytes must outlive the source.
ByteSource memory_source(std::span<const std::byte> bytes);

// The values of a small F32 tensor of `file`, whose bytes the source has; refuses more than 1 MiB and other types.
Result<std::vector<float>> f32_values(const GgufFile& file, const GgufTensor& tensor, const ByteSource& source);

// True if the bytes are one complete encoding of the type, as every value in a parsed file is.
bool well_formed(const GgufValue& value);

// The journal of a change in place (gguf_in_place.h) of the file that `path` leads to.
std::string journal_path(const std::string& path);

// An Error that says what to type if there is one: the file may be anything then.
Result<void> check_no_journal(const std::string& path);

}  // namespace mrrope::formats

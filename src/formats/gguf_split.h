// SPDX-License-Identifier: MIT
//
// Names and keys of split models (llama-gguf-split): "<prefix>-00002-of-00007.gguf", numbered from 1 in names and from
// 0 in the key split.no.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mrrope::formats {

inline constexpr std::string_view kSplitNo = "split.no";
inline constexpr std::string_view kSplitCount = "split.count";
inline constexpr std::string_view kSplitTensors = "split.tensors.count";

struct ShardName {
  std::string prefix;        // with the folder
  std::uint64_t number = 0;  // from 1
  std::uint64_t count = 0;
};

// Nothing if the path does not have the form of a shard's.
std::optional<ShardName> shard_name(std::string_view path);

// Domain: 1 <= number <= count <= 99999.
std::string shard_path(std::string_view prefix, std::uint64_t number, std::uint64_t count);

}  // namespace mrrope::formats

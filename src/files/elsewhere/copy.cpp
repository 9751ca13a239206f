// SPDX-License-Identifier: MIT
#include "files/copy.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/paths.h"

namespace mrrope::base {

namespace {

// A full disk is known before it is full. Best effort: others may fill it meanwhile, and quotas are not asked.
Result<void> check_space(const File& to, std::uint64_t needed) {
  std::error_code unknown;
  const std::filesystem::path folder = to_path(to.path()).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder.empty() ? "." : folder, unknown);
  if (unknown || space.available >= needed) return {};
  return Error{
      ErrorCode::io,
      "needs " + std::to_string(needed) + " bytes, but the disk has only " + std::to_string(space.available) + " left",
      to.path()};
}

}  // namespace

Result<void> copy_range(const File& from, std::uint64_t from_offset, std::uint64_t length, File& to,
                        std::uint64_t to_offset, Progress& progress) {
  if (const auto ok = check_space(to, length); !ok) return ok.error();
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(std::uint64_t{4} << 20U, length)));
  for (std::uint64_t done = 0; done < length;) {
    const auto part =
        std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), length - done)));
    if (const auto ok = from.read_all_at(from_offset + done, part); !ok) return ok.error();
    if (const auto ok = to.write_at(to_offset + done, part); !ok) return ok.error();
    done += part.size();
    if (!progress.advance(part.size())) return Error{ErrorCode::io, "stopped before it was complete", to.path()};
  }
  return {};
}

}  // namespace mrrope::base

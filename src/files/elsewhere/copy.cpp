// SPDX-License-Identifier: MIT
#include "files/copy.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace mrrope::base {

Result<void> copy_range(const File& from, std::uint64_t from_offset, std::uint64_t length, File& to,
                        std::uint64_t to_offset, Progress& progress) {
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

// SPDX-License-Identifier: MIT
#include "files/links.h"

#include <filesystem>
#include <system_error>

#include "base/paths.h"

namespace mrrope::base {

Result<std::string> relative_link(const std::string& path, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path from = fs::canonical(to_path(folder), failed);
  if (failed) return Error{ErrorCode::io, failed.message(), folder};
  const fs::path parent = to_path(path).parent_path();
  fs::path to = fs::canonical(parent.empty() ? fs::path(".") : parent, failed);
  if (failed) return Error{ErrorCode::io, failed.message(), path};
  to /= to_path(path).filename();
  const fs::path way = to.lexically_relative(from);
  return to_text(way.empty() ? to : way);  // two disks of Windows have no way between them
}

Result<void> check_no_links(const std::string& folder, const std::string& below) {
  std::filesystem::path path = to_path(folder);
  for (const std::filesystem::path& name : to_path(below)) {
    path /= name;
    if (is_symbolic_link(to_text(path))) {
      return Error{ErrorCode::invalid_argument, "is a link, and what is written there would lie elsewhere; remove it",
                   to_text(path)};
    }
  }
  return {};
}

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
#include "files/in_place.h"

namespace mrrope::base {

namespace {

Error needs_linux(const std::string& path) {
  return {ErrorCode::unsupported, "changing a model in place needs Linux; write a copy instead", path};
}

}  // namespace

Result<void> lock_for_change(const File& file) { return needs_linux(file.path()); }

Result<File> lock_folder(const std::string& folder) { return needs_linux(folder); }

Result<void> check_nobody_changes(const File&) { return {}; }

Result<void> shift_front(File& file, std::int64_t) { return needs_linux(file.path()); }

bool add_name(const std::string&, const std::string&) { return false; }

bool is_own(const FileStatus&) noexcept { return false; }

}  // namespace mrrope::base

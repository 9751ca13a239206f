// SPDX-License-Identifier: MIT
//
// What a change in place needs beside reading and writing: that nobody else is at it, and a file that grows at its
// front. Linux has all of it. Elsewhere no file grows at its front, and a new one takes the place of the old.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "files/file.h"
#include "mrrope/result.h"

namespace mrrope::base {

// An Error if another process is changing the file. Held until the file is closed. A file system without locks has
// nobody who holds one.
Result<void> lock_for_change(const File& file);
// The same of a folder, held until the result is closed: between the two steps of a change, a second process once took
// the original for one that nobody needs.
Result<File> lock_folder(const std::string& folder);

// An Error if somebody holds lock_for_change() of this file.
Result<void> check_nobody_changes(const File& file);

// Whether the system has shift_front() for some of its file systems.
bool can_shift_front() noexcept;

// Inserts `bytes` at the front, or takes them out if negative: multiples of File::block_size(). Not synced.
// Errors: unsupported, where the file system cannot.
Result<void> shift_front(File& file, std::int64_t bytes);

// A second name of the file, or of the symbolic link, itself. False: the system or the file system cannot, or the name
// is taken.
bool add_name(const std::string& path, const std::string& name);

// Gives the file, or the symbolic link itself, another name in the same folder, in the place of what has it, in one
// step; and syncs the folder.
Result<void> rename_file(const std::string& path, const std::string& name);

// Whether the caller owns a file of this status.
bool is_own(const FileStatus& status) noexcept;

}  // namespace mrrope::base

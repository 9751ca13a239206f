// SPDX-License-Identifier: MIT
//
// The calls that macOS and Windows spell differently. What returns -1 or false has set errno; EBUSY means that another
// program has the file open and does not let go of it, which only Windows knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "files/file.h"

namespace mrrope::base::calls {

// An open descriptor of a file of bytes, or -1. Others may read, write and rename the file meanwhile.
enum class Open { read, read_write };
int open(const std::string& path, Open how, File::Links links) noexcept;
// A new file to read and write. On Windows the system removes it if the process ends before keep() of it.
int create(const std::string& path) noexcept;
bool keep(int descriptor) noexcept;
void close(int descriptor) noexcept;

// What was transferred, at most a gigabyte; -1: an error.
std::int64_t read(int descriptor, std::uint64_t offset, std::byte* into, std::size_t length) noexcept;
std::int64_t write(int descriptor, std::uint64_t offset, const std::byte* from, std::size_t length) noexcept;

bool resize(int descriptor, std::uint64_t size) noexcept;
bool sync(int descriptor) noexcept;
bool is_regular(int descriptor) noexcept;  // not a device or a pipe
std::optional<FileStatus> status(int descriptor) noexcept;

// Whether hard links stand for symbolic ones.
#ifdef _WIN32
inline constexpr bool kHardLinks = true;
#else
inline constexpr bool kHardLinks = false;
#endif

enum class Kind { none, file, folder, link, other };
// Of the name itself, or of what it leads to.
Kind kind(const std::string& path, File::Links links) noexcept;
// Of a file, a folder or a link.
std::optional<FileIdentity> identity(const std::string& path, File::Links links) noexcept;

bool remove(const std::string& path) noexcept;
// In one step. Without `replace`, errno is EEXIST where the name is taken.
bool rename(const std::string& from, const std::string& to, bool replace) noexcept;
bool add_name(const std::string& path, const std::string& name) noexcept;
// ENOTSUP or EPERM: not on this system, or not for this user.
bool add_symbolic_link(const std::string& way, const std::string& link, bool to_folder) noexcept;
// Who may do what with one file is said of the other, too, as far as the system has more than a mode.
void take_permissions(const std::string& from, const std::string& to) noexcept;
// Permissions as far as the system has them.
void set_mode(const std::string& path, std::uint32_t mode) noexcept;

// False with EWOULDBLOCK: another process holds a lock that excludes this one. Until the descriptor is closed.
bool lock(int descriptor, bool exclusive) noexcept;
// A descriptor that one process can have at a time, or -1.
int lock_folder(const std::string& folder) noexcept;

// The owner of new files; 0 where files have none.
std::uint32_t user() noexcept;

// Whether somebody who is in the way of a new file under this name has it open.
bool is_held(const std::string& path) noexcept;

// Whether the last part of the path is the name of a device, in every folder: NUL, COM1.txt.
bool is_device_name(const std::string& path);

}  // namespace mrrope::base::calls

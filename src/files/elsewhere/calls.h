// SPDX-License-Identifier: MIT
//
// The few calls on a descriptor that macOS and Windows spell differently. All set errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "files/file.h"

namespace mrrope::base::calls {

// An open descriptor of a file of bytes, or -1. `create`: one that did not exist, to read and write.
int open(const std::filesystem::path& path, bool write, bool create) noexcept;
void close(int descriptor) noexcept;

// What was transferred, at most a gigabyte; -1: an error.
std::int64_t read(int descriptor, std::uint64_t offset, std::byte* into, std::size_t length) noexcept;
std::int64_t write(int descriptor, std::uint64_t offset, const std::byte* from, std::size_t length) noexcept;

bool resize(int descriptor, std::uint64_t size) noexcept;
bool sync(int descriptor) noexcept;
std::optional<FileStatus> status(int descriptor) noexcept;

}  // namespace mrrope::base::calls

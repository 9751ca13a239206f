// SPDX-License-Identifier: MIT
#include "files/copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace mrrope::base {

namespace {

// Between two calls of the progress callback; long enough that the calls cost nothing.
constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;
constexpr std::size_t kBuffer = std::size_t{4} << 20;

Error stopped(const File& to) { return {ErrorCode::io, "stopped before it was complete", to.path()}; }

// One transfer, in the coordinates of both files.
struct Range {
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t length;

  void advance(std::uint64_t bytes) {
    from += bytes;
    to += bytes;
    length -= bytes;
  }
};

Result<void> read_and_write(const File& from, File& to, Range range, Progress& progress) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kBuffer, range.length)));
  while (range.length > 0) {
    const std::span<std::byte> part(buffer.data(),
                                    static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), range.length)));
    if (const auto ok = from.read_all_at(range.from, part); !ok) return ok.error();
    if (const auto ok = to.write_at(range.to, part); !ok) return ok.error();
    range.advance(part.size());
    if (!progress.advance(part.size())) return stopped(to);
  }
  return {};
}

// A full disk is known before it is full. Best effort: others may fill it meanwhile, and quotas are not asked.
Result<void> check_space(const File& to, std::uint64_t needed) {
  struct statvfs status {};
  if (::fstatvfs(to.descriptor(), &status) != 0) return {};
  const std::uint64_t available = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  if (available >= needed) return {};
  return Error{
      ErrorCode::io,
      "needs " + std::to_string(needed) + " bytes, but the disk has only " + std::to_string(available) + " left",
      to.path()};
}

Result<void> copy_in_kernel(const File& from, File& to, Range range, Progress& progress) {
  if (const auto ok = check_space(to, range.length); !ok) return ok.error();
  while (range.length > 0) {
    auto in = static_cast<off_t>(range.from);
    auto out = static_cast<off_t>(range.to);
    const auto length = static_cast<std::size_t>(std::min(kChunk, range.length));
    const ssize_t count = ::copy_file_range(from.descriptor(), &in, to.descriptor(), &out, length, 0);
    if (count < 0 && errno == EINTR) continue;
    // Other disks, old kernels, odd file systems; and 0 at what the file system takes for the end. Reading and writing
    // works there, or finds out what is wrong.
    if (count == 0 || (count < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS))) {
      return read_and_write(from, to, range, progress);
    }
    if (count < 0) return os_error("write", to.path(), errno);
    // Starts writing to disk now, so that the sync at the end finds little left to do. Only a hint.
    (void)::sync_file_range(to.descriptor(), static_cast<off_t>(range.to), count, SYNC_FILE_RANGE_WRITE);
    range.advance(static_cast<std::uint64_t>(count));
    if (!progress.advance(static_cast<std::uint64_t>(count))) return stopped(to);
  }
  return {};
}

bool clone(const File& from, File& to, Range range) {
  const file_clone_range arguments{from.descriptor(), range.from, range.length, range.to};
  return ::ioctl(to.descriptor(), FICLONERANGE, &arguments) == 0;
}

}  // namespace

Result<void> copy_range(const File& from, std::uint64_t from_offset, std::uint64_t length, File& to,
                        std::uint64_t to_offset, Progress& progress) {
  const Result<std::uint64_t> block = to.block_size();
  if (!block) return block.error();
  const Result<std::uint64_t> size = from.size();
  if (!size) return size.error();
  Range range{from_offset, to_offset, length};
  if (from_offset % *block == to_offset % *block) {
    // | before: copied | whole blocks: cloned | after: copied |, where the last block of a file counts as whole.
    const std::uint64_t before = std::min((*block - from_offset % *block) % *block, length);
    const bool to_the_end = from_offset + length == *size;
    const std::uint64_t blocks = to_the_end ? length - before : (length - before) / *block * *block;
    if (blocks > 0 && clone(from, to, {from_offset + before, to_offset + before, blocks})) {
      if (!progress.advance(blocks)) return stopped(to);
      if (const auto ok = read_and_write(from, to, {from_offset, to_offset, before}, progress); !ok) return ok.error();
      range.advance(before + blocks);
    }
  }
  return copy_in_kernel(from, to, range, progress);
}

}  // namespace mrrope::base

// SPDX-License-Identifier: MIT
#include "formats/gguf_replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "files/copy.h"
#include "files/file.h"
#include "files/in_place.h"
#include "files/open_elsewhere.h"
#include "formats/gguf_in_place.h"
#include "formats/gguf_layout.h"
#include "formats/gguf_parse.h"
#include "formats/gguf_write.h"

namespace mrrope::formats {

namespace {

// The old file would stay under its other names.
Result<void> check_names(const base::FileStatus& status, const std::string& path, bool force) {
  if (status.links <= 1 || force) return {};
  return Error{
      ErrorCode::inconsistent,
      fmt::format("the file has {} names (hard links), and would change under this one only. Write a copy, or force it",
                  status.links),
      path, "force"};
}

// What was read is what was written, byte for byte: the old file is about to go.
Result<bool> is_same(const base::File& a, std::uint64_t a_offset, const base::File& b, std::uint64_t b_offset,
                     std::uint64_t length) {
  constexpr std::uint64_t kPiece = std::uint64_t{4} << 20U;
  std::vector<std::byte> one(static_cast<std::size_t>(std::min(kPiece, length))), other(one.size());
  for (std::uint64_t done = 0; done < length;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(one.size(), length - done));
    if (const auto ok = a.read_all_at(a_offset + done, std::span(one).first(size)); !ok) return ok.error();
    if (const auto ok = b.read_all_at(b_offset + done, std::span(other).first(size)); !ok) return ok.error();
    if (!std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(size), other.begin())) return false;
    done += size;
  }
  return true;
}

Result<void> verify(const base::File& source, const GgufFile& old, const Edited& now, base::File& out) {
  if (const auto ok = out.sync(); !ok) return ok.error();
  if (const auto ok = check_unchanged(out, now.file); !ok) return ok.error();
  const Result<bool> same = is_same(source, old.data_offset, out, now.file.data_offset, now.kept);
  if (!same) return same.error();
  if (!*same) return Error{ErrorCode::io, "read back, the new file differs; the old one stays", old.path};
  return {};
}

}  // namespace

Result<void> replace_edited(const GgufModel& model, const GgufEdits& edits, const InPlaceOptions& options) {
  if (edits.empty()) return {};
  const GgufFile& old = model.head();
  if (const auto ok = check_no_journal(old.path); !ok) return ok.error();
  std::error_code failed;
  const std::string path = base::to_text(std::filesystem::canonical(base::to_path(old.path), failed));
  if (failed) return Error{ErrorCode::io, failed.message(), old.path};
  // To write, too: a file that may not be changed may not be replaced
  Result<base::File> source = base::File::open(path, base::File::Access::read_write);
  if (!source) return source.error();
  if (const auto ok = base::lock_for_change(*source); !ok) return ok.error();
  const Result<base::FileStatus> before = source->status();
  if (!before) return before.error();
  if (const auto ok = check_names(*before, old.path, options.force); !ok) return ok.error();
  if (base::use_elsewhere(*source) == base::Use::open) {
    return Error{ErrorCode::io, "the file is open in another program, which must be ended before the file is changed",
                 old.path};
  }
  if (const auto ok = check_unchanged(*source, old); !ok) return ok.error();
  const Result<Edited> now = plan_in_place(model, edits, *source);
  if (!now) return now.error();

  Result<base::PendingFile> pending = base::PendingFile::create(path, true);
  if (!pending) return pending.error();
  pending->take_mode_and_owner(*before, true);
  base::Progress progress(nullptr, now->kept);
  if (const auto ok = write_shard(*source, old, *now, edits.tensors, pending->file(), progress); !ok) return ok.error();
  if (const auto ok = verify(*source, old, *now, pending->file()); !ok) return ok.error();
  const Result<base::FileStatus> after = source->status();
  if (!after) return after.error();
  if (!(*after == *before)) {
    return Error{ErrorCode::inconsistent, "the file was changed meanwhile by somebody else, and stays as it is",
                 old.path};
  }
  *source = base::File(-1, path);  // Windows replaces no open files
  return pending->commit();
}

}  // namespace mrrope::formats

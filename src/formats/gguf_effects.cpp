// SPDX-License-Identifier: MIT
#include "formats/gguf_effects.h"

#include <algorithm>
#include <vector>

#include "files/in_place.h"

namespace mrrope::formats {

Result<void> Effects::step() {
  if (!steps_.go_on || steps_.go_on()) return {};
  stopped_ = true;
  return Error{ErrorCode::io, "interrupted", file_.path()};
}

Result<void> Effects::shift(std::int64_t bytes) {
  if (bytes == 0) return {};
  if (const auto ok = step(); !ok) return ok.error();
  if (const auto ok = base::shift_front(file_, bytes); !ok) return ok.error();
  return sync();
}

Result<void> Effects::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    if (const auto ok = step(); !ok) return ok.error();
    const std::size_t length = std::min(steps_.piece, bytes.size() - done);
    if (const auto ok = file_.write_at(offset + done, bytes.subspan(done, length)); !ok) return ok.error();
    done += length;
  }
  return {};
}

Result<void> Effects::resize(std::uint64_t size) {
  const Result<std::uint64_t> present = file_.size();
  if (!present) return present.error();
  if (*present == size) return {};
  if (const auto ok = step(); !ok) return ok.error();
  return file_.resize(size);
}

Result<void> Effects::sync() {
  if (const auto ok = step(); !ok) return ok.error();
  return file_.sync();
}

Result<void> Effects::restore(const Journal& journal, std::int64_t shift) {
  for (std::size_t i = 0; i < journal.regions().size(); ++i) {
    if (const auto ok = restore_region(journal, i, shift); !ok) return ok.error();
  }
  return sync();
}

Result<void> Effects::restore_region(const Journal& journal, std::size_t index, std::int64_t shift) {
  const Region region = journal.regions()[index];
  const std::uint64_t gone = shift < 0 ? static_cast<std::uint64_t>(-shift) : 0;
  std::vector<std::byte> buffer(steps_.piece);
  for (std::uint64_t at = std::max(gone, region.offset); at < region.offset + region.length;) {
    const auto length =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), region.offset + region.length - at));
    const std::span<std::byte> part = std::span(buffer).first(length);
    if (const auto ok = journal.read(index, at - region.offset, part); !ok) return ok.error();
    if (const auto ok = write(at + static_cast<std::uint64_t>(shift), part); !ok) return ok.error();
    at += length;
  }
  return {};
}

Result<void> Effects::set_phase(Journal& journal, Phase phase) {
  if (const auto ok = step(); !ok) return ok.error();
  return journal.set_phase(phase);
}

Result<void> Effects::remove(const Journal& journal) {
  if (const auto ok = step(); !ok) return ok.error();
  return base::remove_file(journal.path());
}

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
#include "formats/gguf_journal.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "formats/gguf_bytes.h"
#include "formats/gguf_copy.h"

namespace mrrope::formats {

namespace {

constexpr std::string_view kMagic = "MRROPEJ1";
constexpr std::uint64_t kPhaseAt = 8;
constexpr std::uint64_t kChecksumAt = 16;
constexpr std::uint64_t kHeadAt = 24;
constexpr std::uint64_t kRegionsAt = kHeadAt + 5 * 8;
constexpr std::uint64_t kMaxRegions = std::uint64_t{1} << 20;

Error damaged(const std::string& path, const char* how) {
  return {ErrorCode::malformed,
          std::string("a damaged journal (") + how + "); if the model beside it is sound, the journal can be deleted",
          path};
}

// FNV-1a of everything from the head on. Against accidents, not attacks.
Result<std::uint64_t> checksum(const base::File& file, std::uint64_t size) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::uint64_t at = kHeadAt; at < size;) {
    const std::span<std::byte> part(buffer.data(),
                                    static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - at)));
    if (auto error = file.read_all_at(at, part)) return *error;
    for (const std::byte byte : part) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    at += part.size();
  }
  return hash;
}

}  // namespace

Journal::Journal(base::File file, Phase phase, const JournalHead& head, std::vector<Region> regions)
    : file_(std::move(file)), phase_(phase), head_(head), regions_(std::move(regions)) {
  std::uint64_t place = kRegionsAt + 16 * regions_.size();
  for (const Region& region : regions_) {
    places_.push_back(place);
    place += region.length;
  }
}

Result<Journal> Journal::create(const std::string& path, const JournalHead& head, std::vector<Region> regions,
                                const base::File& file) {
  std::string front(kMagic);
  put(front, Phase::planned);
  put(front, std::uint64_t{0});
  for (const std::uint64_t number : {head.inode, head.old_size, head.new_size, static_cast<std::uint64_t>(head.shift),
                                     static_cast<std::uint64_t>(regions.size())}) {
    put(front, number);
  }
  for (const Region& region : regions) {
    put(front, region.offset);
    put(front, region.length);
  }

  Result<base::PendingFile> pending = base::PendingFile::create(path, false);
  if (!pending) return pending.error();
  base::File& out = pending->file();
  if (auto error = out.write_at(0, base::bytes_of(front))) return *error;
  std::uint64_t end = front.size();
  Progress uncounted({}, 0);
  for (const Region& region : regions) {
    if (auto error = copy_range(file, region.offset, region.length, out, end, uncounted)) return *error;
    end += region.length;
  }
  const Result<std::uint64_t> sum = checksum(out, end);
  if (!sum) return sum.error();
  if (auto error = out.write_at(kChecksumAt, std::as_bytes(std::span(&*sum, 1)))) return *error;
  if (auto error = pending->commit()) return *error;
  return open(path);
}

Result<Journal> Journal::open(const std::string& path) {
  Result<base::File> file = base::File::open(path, base::File::Access::read_write);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  std::string front(kRegionsAt, '\0');
  if (*size < front.size()) return damaged(path, "too short");
  if (auto error = file->read_all_at(0, base::bytes_of(front))) return *error;
  if (!front.starts_with(kMagic)) return damaged(path, "not ours");
  const auto phase = get<Phase>(front, kPhaseAt);
  if (phase != Phase::planned && phase != Phase::shifted) return damaged(path, "unknown phase");

  const auto number = [&](std::size_t index) { return get<std::uint64_t>(front, kHeadAt + 8 * index); };
  const JournalHead head{number(0), number(1), number(2), static_cast<std::int64_t>(number(3))};
  const std::uint64_t count = number(4);
  if (count > kMaxRegions || count > (*size - kRegionsAt) / 16) return damaged(path, "too many regions");
  std::string table(static_cast<std::size_t>(16 * count), '\0');
  if (auto error = file->read_all_at(kRegionsAt, base::bytes_of(table))) return *error;
  std::vector<Region> regions;
  std::uint64_t left = *size - kRegionsAt - table.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Region region{get<std::uint64_t>(table, 16 * i), get<std::uint64_t>(table, 16 * i + 8)};
    if (region.length > left || region.length > head.old_size || region.offset > head.old_size - region.length) {
      return damaged(path, "a region outside the file");
    }
    left -= region.length;
    regions.push_back(region);
  }
  const Result<std::uint64_t> sum = checksum(*file, *size);
  if (!sum) return sum.error();
  if (left != 0 || *sum != get<std::uint64_t>(front, kChecksumAt)) return damaged(path, "wrong checksum");
  return Journal(std::move(*file), phase, head, std::move(regions));
}

std::optional<Error> Journal::set_phase(Phase phase) {
  if (auto error = file_.write_at(kPhaseAt, std::as_bytes(std::span(&phase, 1)))) return error;
  phase_ = phase;
  return file_.sync();
}

std::optional<Error> Journal::read(std::size_t index, std::uint64_t offset, std::span<std::byte> into) const {
  return file_.read_all_at(places_[index] + offset, into);
}

Result<bool> Journal::matches(const base::File& file, std::size_t index, std::uint64_t first,
                              std::int64_t displacement) const {
  const Region region = regions_[index];
  std::vector<std::byte> kept(std::size_t{1} << 20), found(kept.size());
  for (std::uint64_t at = first; at < region.length;) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(kept.size(), region.length - at));
    const auto expected = std::span(kept).first(length), actual = std::span(found).first(length);
    if (auto error = read(index, at, expected)) return *error;
    const Result<std::size_t> count =
        file.read_at(region.offset + at + static_cast<std::uint64_t>(displacement), actual);
    if (!count) return count.error();
    if (*count != length || !std::equal(expected.begin(), expected.end(), actual.begin())) return false;
    at += length;
  }
  return true;
}

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// Whether the file is shifted is seen from where the old header is, not from the size: a process that is killed inside
// xfs's fallocate leaves a file that is shifted but has its old size, or the reverse (faults_test.py found it). That a
// shift is not half done after a power failure is the file system's promise, not ours.
#define XXH_INLINE_ALL
#include "formats/gguf_state.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace mrrope::formats {

namespace {

constexpr std::uint64_t kPiece = 4096;
constexpr std::uint64_t kPieces = 64;
constexpr std::size_t kBuffer = std::size_t{1} << 16;

// Everything outside the regions, in the old file.
std::vector<Region> kept_ranges(std::uint64_t old_size, std::span<const Region> regions) {
  std::vector<Region> kept;
  std::uint64_t end = 0;
  for (const Region& region : regions) {
    if (region.offset > end) kept.push_back({end, region.offset - end});
    end = region.end();
  }
  if (old_size > end) kept.push_back({end, old_size - end});
  return kept;
}

// What of `ranges` to hash, if they were put one behind the other.
std::vector<Region> samples(const std::vector<Region>& ranges) {
  std::uint64_t total = 0;
  for (const Region& range : ranges) total += range.length;
  if (total <= kPieces * kPiece) return ranges;
  std::vector<Region> out;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    std::uint64_t from = (total - kPiece) / (kPieces - 1) * i;
    if (i + 1 == kPieces) from = total - kPiece;
    std::uint64_t left = kPiece;
    for (const Region& range : ranges) {
      if (left == 0) break;
      if (from >= range.length) {
        from -= range.length;
        continue;
      }
      const std::uint64_t length = std::min(left, range.length - from);
      out.push_back({range.offset + from, length});
      left -= length;
      from = 0;
    }
  }
  return out;
}

// Whether every byte of [first, last) is zero, the old one or, of a file that is shifted, the new one.
Result<bool> explained(const base::File& file, const Journal& journal, std::uint64_t first, std::uint64_t last,
                       std::int64_t displacement, bool written) {
  std::vector<std::byte> found(kBuffer), old(kBuffer), now(kBuffer);
  for (std::uint64_t at = first; at < last;) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(kBuffer, last - at));
    std::fill_n(old.begin(), length, std::byte{0});
    std::fill_n(now.begin(), length, std::byte{0});
    const auto place = static_cast<std::int64_t>(at);
    if (const auto ok = file.read_all_at(at, std::span(found).first(length)); !ok) return ok.error();
    if (const auto ok = journal.old_bytes(place - displacement, std::span(old).first(length)); !ok) return ok.error();
    if (written) {
      if (const auto ok = journal.new_bytes(place, std::span(now).first(length)); !ok) return ok.error();
    }
    for (std::size_t i = 0; i < length; ++i) {
      if (found[i] != std::byte{0} && found[i] != old[i] && found[i] != now[i]) return false;
    }
    at += length;
  }
  return true;
}

// Whether the file is the old one, shifted by `displacement`, with nothing in the regions and at the ends that the
// change has not put there.
Result<bool> is_left_at(const base::File& file, const Journal& journal, std::uint64_t size, std::int64_t displacement,
                        bool written) {
  const JournalHead& head = journal.head();
  const Result<std::optional<std::uint64_t>> hash = kept_hash(file, head.old_size, journal.regions(), displacement);
  if (!hash) return hash.error();
  if (*hash != head.kept_hash) return false;
  std::uint64_t end = 0;
  for (const Region& kept : kept_ranges(head.old_size, journal.regions())) {
    const std::uint64_t start = kept.offset + static_cast<std::uint64_t>(displacement);
    Result<bool> same = explained(file, journal, end, start, displacement, written);
    if (!same || !*same) return same;
    end = start + kept.length;
  }
  return explained(file, journal, end, size, displacement, written);
}

// Whether the old header, which is region 0, is `displacement` from where it was, as far as a shift leaves it.
Result<bool> header_is_at(const base::File& file, const Journal& journal, std::int64_t displacement) {
  const std::int64_t shift = journal.head().shift;
  return journal.matches(file, 0, shift < 0 ? static_cast<std::uint64_t>(-shift) : 0, displacement);
}

Result<bool> is_old(const base::File& file, const Journal& journal) {
  const JournalHead& head = journal.head();
  for (std::size_t i = 0; i < journal.regions().size(); ++i) {
    Result<bool> same = journal.matches(file, i, 0, 0);
    if (!same || !*same) return same;
  }
  const Result<std::optional<std::uint64_t>> hash = kept_hash(file, head.old_size, journal.regions(), 0);
  if (!hash) return hash.error();
  return *hash == head.kept_hash;
}

// The state of a file that is not the old one; nothing if no step of the change leaves it like this.
Result<std::optional<State>> interrupted_state(const base::File& file, const Journal& journal, std::uint64_t size) {
  const JournalHead& head = journal.head();
  const std::uint64_t shifted_size = journal.shifted_size();
  const bool planned = journal.phase() == Phase::planned;
  if (planned && (size == head.old_size || size == shifted_size)) {
    const Result<bool> here = header_is_at(file, journal, 0);
    if (!here) return here.error();
    if (*here) {
      const Result<bool> left = is_left_at(file, journal, size, 0, false);
      if (!left) return left.error();
      if (*left) return std::optional(State::unshifted);
    }
    const Result<bool> there = header_is_at(file, journal, head.shift);
    if (!there) return there.error();
    if (!*there) return std::optional<State>();
  } else {
    const auto [least, most] = std::minmax(shifted_size, head.new_size);
    if (planned || size < least || size > most) return std::optional<State>();
  }
  const Result<bool> left = is_left_at(file, journal, size, head.shift, true);
  if (!left) return left.error();
  return *left ? std::optional(State::shifted) : std::nullopt;
}

}  // namespace

Result<std::optional<std::uint64_t>> kept_hash(const base::File& file, std::uint64_t old_size,
                                               std::span<const Region> regions, std::int64_t displacement) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> buffer(kPieces * kPiece);
  for (const Region& part : samples(kept_ranges(old_size, regions))) {
    const auto into = std::span(buffer).first(static_cast<std::size_t>(part.length));
    const Result<std::size_t> count = file.read_at(part.offset + static_cast<std::uint64_t>(displacement), into);
    if (!count) return count.error();
    if (*count != into.size()) return std::optional<std::uint64_t>();
    XXH3_64bits_update(state.get(), into.data(), into.size());
  }
  return std::optional<std::uint64_t>(XXH3_64bits_digest(state.get()));
}

Result<State> state_of(const base::File& file, const Journal& journal) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.error();
  if (*size == journal.head().old_size) {
    const Result<bool> old = is_old(file, journal);
    if (!old) return old.error();
    if (*old) return State::old;
  }
  const Result<std::optional<State>> state = interrupted_state(file, journal, *size);
  if (!state) return state.error();
  if (*state) return **state;
  return Error{ErrorCode::inconsistent,
               "no step of an interrupted change leaves the file as it is: it has been changed since, or the journal " +
                   journal.path() +
                   " belongs to another file. Nothing was done; if the file is sound, delete the journal",
               file.path()};
}

}  // namespace mrrope::formats

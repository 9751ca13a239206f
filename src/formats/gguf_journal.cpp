// SPDX-License-Identifier: MIT
#define XXH_INLINE_ALL
#include "formats/gguf_journal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "files/copy.h"
#include "files/in_place.h"
#include "formats/gguf_bytes.h"
#include "mrrope/gguf.h"

namespace mrrope::formats {

namespace {

constexpr std::string_view kMagic = "MRROPEJ2";
constexpr std::uint64_t kPhaseAt = 8;
constexpr std::uint64_t kChecksumAt = 16;
constexpr std::uint64_t kHeadAt = 24;
constexpr std::uint64_t kTableAt = kHeadAt + 6 * sizeof(std::uint64_t);
constexpr std::uint64_t kMaxRanges = std::uint64_t{1} << 18;  // as many as a header may list tensors
constexpr std::size_t kBuffer = std::size_t{1} << 16;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
constexpr std::uint64_t kLeastHeader = 24;  // magic, version, two counts
constexpr std::int64_t kLeastBlock = 512;   // of any file system; a shift is a number of blocks

Error damaged(const std::string& path, const char* how) {
  return {ErrorCode::malformed,
          std::string("a damaged journal (") + how + "); if the model beside it is sound, the journal can be deleted",
          path};
}

// Of everything from the head on. Against accidents, not attacks.
Result<std::uint64_t> checksum(const base::File& file, std::uint64_t size) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> buffer(kBuffer);
  for (std::uint64_t at = kHeadAt; at < size;) {
    const std::span<std::byte> part(buffer.data(),
                                    static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - at)));
    if (const auto ok = file.read_all_at(at, part); !ok) return ok.error();
    XXH3_64bits_update(state.get(), part.data(), part.size());
    at += part.size();
  }
  return XXH3_64bits_digest(state.get());
}

// Whoever may write into a model's folder can put a journal there. Only the model's owner has a say in it, and the
// caller, who could write to it directly; and nobody may have written to the journal who cannot write to the model.
Result<void> check_owner(const base::FileStatus& journal, const base::FileStatus& model, const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::inconsistent,
                 "a journal that is not believed: " + why +
                     ". If the model beside it is sound, delete the journal; if you know that its change was "
                     "interrupted, give it the model's owner and mode",
                 path};
  };
  if (journal.owner != model.owner && !base::is_own(journal)) {
    return refused(fmt::format("it belongs to user {}, who is neither you nor the owner of the model", journal.owner));
  }
  if ((journal.mode & 0022U & ~model.mode) != 0) return refused("users may write to it who may not write to the model");
  return {};
}

// One of the two tables. Nothing if it is none.
std::optional<std::vector<Region>> parse_ranges(std::string_view table, std::uint64_t file_size, std::uint64_t& left) {
  std::vector<Region> ranges;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < table.size(); i += 16) {
    const Region range{get<std::uint64_t>(table, i), get<std::uint64_t>(table, i + 8)};
    if (range.length == 0 || range.length > left || range.offset < end || range.length > file_size ||
        range.offset > file_size - range.length) {
      return std::nullopt;
    }
    left -= range.length;
    end = range.end();
    ranges.push_back(range);
  }
  if (ranges.empty() || ranges[0].offset != 0 || ranges[0].length < kLeastHeader) return std::nullopt;
  return ranges;
}

// Whether a change can have these sizes; the header is the first region.
bool plausible(const JournalHead& head, std::uint64_t header) {
  constexpr auto kMost = static_cast<std::int64_t>(kMaxGgufHeader);
  if (head.old_size > kMaxSize || head.new_size > kMaxSize || header > kMaxGgufHeader) return false;
  if (head.shift > kMost || head.shift < -kMost || head.shift % kLeastBlock != 0) return false;
  return static_cast<std::int64_t>(header) + head.shift >= static_cast<std::int64_t>(kLeastHeader);
}

}  // namespace

Journal::Journal(base::File file, Phase phase, const JournalHead& head, std::vector<Region> saved,
                 std::vector<Region> written)
    : file_(std::move(file)),
      phase_(phase),
      head_(head),
      saved_{std::move(saved), {}},
      written_{std::move(written), {}} {
  std::uint64_t place = kTableAt + 16 * (saved_.ranges.size() + written_.ranges.size());
  for (Stored* stored : {&saved_, &written_}) {
    for (const Region& range : stored->ranges) {
      stored->places.push_back(place);
      place += range.length;
    }
  }
}

Result<Journal> Journal::create(const std::string& path, const JournalHead& head, const std::vector<Region>& regions,
                                const std::vector<Write>& writes, const base::File& file) {
  std::string front(kMagic);
  put(front, Phase::planned);
  put(front, std::uint64_t{0});
  for (const std::uint64_t number :
       {head.old_size, head.new_size, static_cast<std::uint64_t>(head.shift), head.kept_hash,
        static_cast<std::uint64_t>(regions.size()), static_cast<std::uint64_t>(writes.size())}) {
    put(front, number);
  }
  for (const Region& region : regions) {
    put(front, region.offset);
    put(front, region.length);
  }
  for (const Write& write : writes) {
    put(front, write.offset);
    put(front, static_cast<std::uint64_t>(write.bytes.size()));
  }

  const Result<base::FileStatus> model = file.status();
  if (!model) return model.error();
  Result<base::PendingFile> pending = base::PendingFile::create(path, false);
  if (!pending) return pending.error();
  pending->take_mode_and_owner(*model, false);  // it holds parts of the model, and is believed by its owner
  base::File& out = pending->file();
  if (const auto ok = out.write_at(0, base::bytes_of(front)); !ok) return ok.error();
  std::uint64_t end = front.size();
  base::Progress uncounted({}, 0);
  for (const Region& region : regions) {
    if (const auto ok = base::copy_range(file, region.offset, region.length, out, end, uncounted); !ok)
      return ok.error();
    end += region.length;
  }
  for (const Write& write : writes) {
    if (const auto ok = out.write_at(end, write.bytes); !ok) return ok.error();
    end += write.bytes.size();
  }
  const Result<std::uint64_t> sum = checksum(out, end);
  if (!sum) return sum.error();
  if (const auto ok = out.write_at(kChecksumAt, std::as_bytes(std::span(&*sum, 1))); !ok) return ok.error();
  if (const auto ok = pending->commit(); !ok) return ok.error();
  return open(path, *model);
}

Result<Journal> Journal::open(const std::string& path, const base::FileStatus& model) {
  Result<base::File> file = base::File::open(path, base::File::Access::read_write, base::File::Links::refuse);
  if (!file) return file.error();
  const Result<base::FileStatus> status = file->status();
  if (!status) return status.error();
  if (const auto ok = check_owner(*status, model, path); !ok) return ok.error();
  std::string front(kTableAt, '\0');
  if (status->size < front.size()) return damaged(path, "too short");
  if (const auto ok = file->read_all_at(0, base::bytes_of(front)); !ok) return ok.error();
  if (!front.starts_with(kMagic)) return damaged(path, "not ours");
  const auto phase = get<Phase>(front, kPhaseAt);
  if (phase != Phase::planned && phase != Phase::shifted) return damaged(path, "unknown phase");

  const auto number = [&](std::size_t index) { return get<std::uint64_t>(front, kHeadAt + 8 * index); };
  const JournalHead head{number(0), number(1), static_cast<std::int64_t>(number(2)), number(3)};
  const std::array counts = {number(4), number(5)};
  std::uint64_t left = status->size - kTableAt;
  if (counts[0] > kMaxRanges || counts[1] > kMaxRanges || counts[0] + counts[1] > left / 16) {
    return damaged(path, "too many regions");
  }
  std::string table(static_cast<std::size_t>(16 * (counts[0] + counts[1])), '\0');
  if (const auto ok = file->read_all_at(kTableAt, base::bytes_of(table)); !ok) return ok.error();
  left -= table.size();
  const auto split = static_cast<std::size_t>(16 * counts[0]);
  auto saved = parse_ranges(std::string_view(table).substr(0, split), head.old_size, left);
  auto written = parse_ranges(std::string_view(table).substr(split), head.new_size, left);
  if (!saved || !written) return damaged(path, "impossible regions");
  if (!plausible(head, saved->front().length)) return damaged(path, "impossible sizes");
  const Result<std::uint64_t> sum = checksum(*file, status->size);
  if (!sum) return sum.error();
  if (left != 0 || *sum != get<std::uint64_t>(front, kChecksumAt)) return damaged(path, "wrong checksum");

  Journal journal(std::move(*file), phase, head, *std::move(saved), *std::move(written));
  for (const Stored* stored : {&journal.saved_, &journal.written_}) {
    std::string magic(4, '\0');
    if (const auto ok = journal.file_.read_all_at(stored->places[0], base::bytes_of(magic)); !ok) return ok.error();
    if (magic != "GGUF") return damaged(path, "it holds no header of a GGUF");
  }
  return journal;
}

Result<void> Journal::set_phase(Phase phase) {
  if (const auto ok = file_.write_at(kPhaseAt, std::as_bytes(std::span(&phase, 1))); !ok) return ok.error();
  phase_ = phase;
  return file_.sync();
}

Result<void> Journal::read(std::size_t index, std::uint64_t offset, std::span<std::byte> into) const {
  return file_.read_all_at(saved_.places[index] + offset, into);
}

Result<void> Journal::old_bytes(std::int64_t at, std::span<std::byte> into) const { return fill(saved_, at, into); }

Result<void> Journal::new_bytes(std::int64_t at, std::span<std::byte> into) const { return fill(written_, at, into); }

Result<void> Journal::fill(const Stored& from, std::int64_t at, std::span<std::byte> into) const {
  const std::int64_t end = at + static_cast<std::int64_t>(into.size());
  auto range = std::upper_bound(from.ranges.begin(), from.ranges.end(), at, [](std::int64_t place, const Region& r) {
    return place < static_cast<std::int64_t>(r.end());
  });
  for (; range != from.ranges.end() && static_cast<std::int64_t>(range->offset) < end; ++range) {
    const auto offset = static_cast<std::int64_t>(range->offset);
    const std::int64_t first = std::max(at, offset);
    const std::int64_t last = std::min(end, static_cast<std::int64_t>(range->end()));
    const std::uint64_t place = from.places[static_cast<std::size_t>(range - from.ranges.begin())];
    const auto part = into.subspan(static_cast<std::size_t>(first - at), static_cast<std::size_t>(last - first));
    if (const auto ok = file_.read_all_at(place + static_cast<std::uint64_t>(first - offset), part); !ok)
      return ok.error();
  }
  return {};
}

Result<bool> Journal::matches(const base::File& file, std::size_t index, std::uint64_t first,
                              std::int64_t displacement) const {
  const Region region = regions()[index];
  std::vector<std::byte> kept(kBuffer), found(kBuffer);
  for (std::uint64_t at = first; at < region.length;) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(kept.size(), region.length - at));
    const auto expected = std::span(kept).first(length), actual = std::span(found).first(length);
    if (const auto ok = read(index, at, expected); !ok) return ok.error();
    const Result<std::size_t> count =
        file.read_at(region.offset + at + static_cast<std::uint64_t>(displacement), actual);
    if (!count) return count.error();
    if (*count != length || !std::equal(expected.begin(), expected.end(), actual.begin())) return false;
    at += length;
  }
  return true;
}

}  // namespace mrrope::formats

// SPDX-License-Identifier: MIT
//
// A model and a journal beside it. Recovery is refused, and neither file has changed; or it puts back the file that
// the journal describes, from bytes that the model and the journal hold, and every byte it overwrites or cuts off is
// in the journal. A change that really was interrupted, wherever, and whose recovery was, too, ends as the old bytes.
//
//   planted      | 0 and what to repair | size of the model, u16 | its bytes | the journal's bytes |
//   interrupted  | 1 and which change   | last step | last step of the recovery | note, u16 | tensor |
//                  damages of 4 bytes |
#define XXH_INLINE_ALL
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_in_place.h"
#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace {

constexpr std::size_t kBlock = 512;

}  // namespace

// In the place of the C library's: the files lie in memory, where no range can be inserted. A file system of the
// smallest blocks, so that small inputs reach every shift.
extern "C" int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  struct stat status {};
  const bool insert = mode == FALLOC_FL_INSERT_RANGE;
  const auto bytes = static_cast<std::size_t>(length);
  if ((!insert && mode != FALLOC_FL_COLLAPSE_RANGE) || offset != 0 || length <= 0 || bytes % kBlock != 0 ||
      ::fstat(descriptor, &status) != 0 || status.st_size == 0 || (!insert && length >= status.st_size)) {
    errno = EINVAL;
    return -1;
  }
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(descriptor, content.data(), content.size(), 0) != status.st_size) std::abort();
  content = insert ? std::string(bytes, '\0') + content : content.substr(bytes);
  if (::ftruncate(descriptor, static_cast<off_t>(content.size())) != 0) std::abort();
  return ::pwrite(descriptor, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()) ? 0 : -1;
}

namespace {

using namespace mrrope;

void require(bool holds) {
  if (!holds) std::abort();
}

// The files of this process; tools/fuzz lets TMPDIR lie in memory.
struct Place {
  test::TempFolder folder;
  std::string model = folder / "m.gguf";
  std::string journal = folder / "m.gguf.mrrope-journal";
};
Place& place() {
  static Place here;
  return here;
}

std::uint64_t number(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void set_number(std::string& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// What a journal says, read once more and with nothing of the code under test.
struct Claim {
  struct Range {
    std::uint64_t offset, length, place;  // `place`: of its bytes in the journal
  };
  std::uint64_t old_size = 0;
  std::int64_t shift = 0;
  std::vector<Range> saved, written, kept;

  static std::optional<Claim> parse(std::string_view journal) {
    if (journal.size() < 72) return std::nullopt;
    const std::uint64_t saved = number(journal, 56), written = number(journal, 64), most = journal.size() / 16;
    if (saved > most || written > most || 72 + 16 * (saved + written) > journal.size()) return std::nullopt;
    Claim claim{number(journal, 24), static_cast<std::int64_t>(number(journal, 40)), {}, {}, {}};
    std::uint64_t place = 72 + 16 * (saved + written), end = 0;
    for (std::uint64_t i = 0; i < saved + written; ++i) {
      const Range range{number(journal, 72 + 16 * i), number(journal, 80 + 16 * i), place};
      if (range.length > journal.size() - place) return std::nullopt;
      place += range.length;
      (i < saved ? claim.saved : claim.written).push_back(range);
      if (i >= saved) continue;
      if (range.offset < end || range.offset > claim.old_size) return std::nullopt;
      if (range.offset > end) claim.kept.push_back({end, range.offset - end, 0});
      end = range.offset + range.length;
    }
    if (end < claim.old_size) claim.kept.push_back({end, claim.old_size - end, 0});
    return claim;
  }
};

// The bytes of `model` that stay, if it is displaced by so much; nothing if it does not have them.
std::optional<std::string> kept_bytes(const Claim& claim, std::string_view model, std::int64_t displacement) {
  std::string bytes;
  for (const Claim::Range& range : claim.kept) {
    const std::uint64_t from = range.offset + static_cast<std::uint64_t>(displacement);
    if (from > model.size() || range.length > model.size() - from) return std::nullopt;
    bytes += model.substr(from, range.length);
  }
  return bytes;
}

// The byte at `at` among the stored ones; nothing if it is not stored.
std::optional<char> stored(const std::vector<Claim::Range>& ranges, std::string_view journal, std::uint64_t at) {
  for (const Claim::Range& range : ranges) {
    if (at >= range.offset && at - range.offset < range.length) return journal[range.place + (at - range.offset)];
  }
  return std::nullopt;
}

// Whether `after` is the file that the journal saved, with the rest of `before`, and nothing of `before` is lost.
bool is_restored(const Claim& claim, std::string_view journal, std::string_view before, std::string_view after,
                 std::int64_t displacement) {
  const auto kept = kept_bytes(claim, before, displacement);
  if (after.size() != claim.old_size || !kept || kept_bytes(claim, after, 0) != kept) return false;
  for (const Claim::Range& range : claim.saved) {
    if (after.substr(range.offset, range.length) != journal.substr(range.place, range.length)) return false;
  }
  for (std::uint64_t at = 0; at < before.size(); ++at) {
    const std::uint64_t old = at - static_cast<std::uint64_t>(displacement);  // beyond any file if it would be negative
    const bool stays = std::any_of(claim.kept.begin(), claim.kept.end(), [&](const Claim::Range& range) {
      return old >= range.offset && old - range.offset < range.length;
    });
    if (!stays && before[at] != '\0' && before[at] != stored(claim.saved, journal, old) &&
        before[at] != stored(claim.written, journal, at)) {
      return false;
    }
  }
  return true;
}

void check_recovery() {
  const std::string before = test::read_bytes(place().model), journal = test::read_bytes(place().journal);
  const Result<bool> recovered = formats::recover(place().model, {.go_on = {}, .piece = 1024});  // less to clear
  const std::string after = test::read_bytes(place().model);
  if (!recovered) {
    require(!recovered.error().message.empty());
    require(after == before && test::read_bytes(place().journal) == journal);
    return;
  }
  require(*recovered && ::access(place().journal.c_str(), F_OK) != 0);
  const auto claim = Claim::parse(journal);
  require(claim && (is_restored(*claim, journal, before, after, 0) ||
                    is_restored(*claim, journal, before, after, claim->shift)));
}

// No fuzzer guesses a checksum.
void repair(std::string& journal, std::string_view model, bool hash, bool shifted) {
  const auto claim = Claim::parse(journal);
  if (hash && claim) {
    const auto kept = kept_bytes(*claim, model, shifted ? claim->shift : 0);
    if (kept) set_number(journal, 48, XXH3_64bits(kept->data(), kept->size()));
  }
  if (journal.size() >= 24) set_number(journal, 16, XXH3_64bits(journal.data() + 24, journal.size() - 24));
}

void planted(std::string_view input) {
  if (input.size() < 3) return;
  const auto how = static_cast<std::uint8_t>(input[0]) >> 1U & 3U;
  const std::size_t size = static_cast<std::uint8_t>(input[1]) + std::size_t{256} * static_cast<std::uint8_t>(input[2]);
  const std::string model(input.substr(3, size));
  std::string journal(input.substr(3 + model.size()));
  if (how != 0) repair(journal, model, how > 1, how > 2);
  place().folder.write("m.gguf", model);
  place().folder.write("m.gguf.mrrope-journal", journal);
  check_recovery();
}

void interrupted(std::string_view input) {
  if (input.size() < 6) return;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
  static const test::GgufBuilder builder = test::small_model().tensor("more", {1280}, 0, 5120);
  static const std::string original = builder.bytes();
  place().folder.write("m.gguf", original);
  GgufEdits edits, inverse;
  edits.set("llama.context_length", GgufValue::u32(131072));
  edits.set("mrrope.plan", GgufValue::text(std::string((byte(3) + std::size_t{256} * byte(4)) % 9000, 'p')));
  edits.add_tensor("rope_freqs.weight", std::vector<float>(1 + byte(5), 2.0F));
  inverse.remove("mrrope.plan");
  inverse.removed_tensors = {"rope_freqs.weight"};
  const bool back = (byte(0) & 2U) != 0;
  if (back) require(formats::edit_in_place(*read_gguf(place().model), edits, {}).has_value());

  const std::string old = test::read_bytes(place().model);
  const auto until = [](std::uint8_t last) {
    return formats::Steps{.go_on = [left = last]() mutable { return left-- > 0; }, .piece = 1024};
  };
  const Result<GgufModel> model = read_gguf(place().model);
  require(model.has_value());
  if (formats::edit_in_place(*model, back ? inverse : edits, until(byte(1)))) {
    require(read_gguf(place().model).has_value() && ::access(place().journal.c_str(), F_OK) != 0);
    require(test::read_bytes(place().model).find(builder.data) != std::string::npos);
    return;
  }
  if (::access(place().journal.c_str(), F_OK) != 0) {  // stopped before the first effect
    require(test::read_bytes(place().model) == old);
    return;
  }
  if (input.size() < 10) {
    const Result<bool> first = formats::recover(place().model, until(byte(2)));
    const Result<bool> second = formats::recover(place().model, {});
    require(second.has_value() && (*second || first.has_value()));
    require(test::read_bytes(place().model) == old && ::access(place().journal.c_str(), F_OK) != 0);
    return;
  }
  std::string files[2] = {test::read_bytes(place().model), test::read_bytes(place().journal)};
  for (std::size_t at = 6; at + 4 <= input.size(); at += 4) {
    std::string& file = files[byte(at) & 1U];
    if (!file.empty()) file[(byte(at + 1) + std::size_t{256} * byte(at + 2)) % file.size()] = input[at + 3];
  }
  if ((byte(0) & 4U) != 0) repair(files[1], files[0], (byte(0) & 8U) != 0, (byte(0) & 16U) != 0);
  place().folder.write("m.gguf", files[0]);
  place().folder.write("m.gguf.mrrope-journal", files[1]);
  check_recovery();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  (input[0] & 1) == 0 ? planted(input) : interrupted(input);
  (void)::unlink(place().model.c_str());
  (void)::unlink(place().journal.c_str());
  return 0;
}

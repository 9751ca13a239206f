// SPDX-License-Identifier: MIT
//
// Journals that are not to be believed: of other users, of other files, and made to do harm. In a folder where others
// may write, 84 bytes beside a model once let `mrrope extend --dry-run` cut it down to 8.
#define XXH_INLINE_ALL
#include "formats/gguf_journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <functional>
#include <random>

#include "formats/gguf_in_place.h"
#include "formats/gguf_parse.h"
#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

namespace fs = std::filesystem;
using formats::Steps;
using test::raw;
using test::read_bytes;
using test::small_model;
using test::TempFolder;

// The fields of a journal, for lies in any of them; its checksum is always right.
struct Fields {
  struct Range {
    std::uint64_t offset;
    std::string bytes;
    std::optional<std::uint64_t> length = {};  // another one than the bytes have
  };
  std::uint64_t phase = 2, old_size = 0, new_size = 0, shift = 0, kept_hash = 0;
  std::vector<Range> saved, written;
  std::optional<std::uint64_t> saved_count, written_count;

  static Fields parse(const std::string& bytes) {
    const auto number = [&](std::size_t at) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      return value;
    };
    Fields f{number(8), number(24), number(32), number(40), number(48), {}, {}, {}, {}};
    const std::uint64_t saved = number(56), all = saved + number(64);
    std::size_t place = 72 + 16 * all;
    for (std::uint64_t i = 0; i < all; ++i) {
      const std::uint64_t length = number(72 + 16 * i + 8);
      (i < saved ? f.saved : f.written).push_back({number(72 + 16 * i), bytes.substr(place, length)});
      place += length;
    }
    return f;
  }
  [[nodiscard]] std::string bytes() const {
    std::string rest = raw(old_size) + raw(new_size) + raw(shift) + raw(kept_hash);
    rest += raw(saved_count.value_or(saved.size())) + raw(written_count.value_or(written.size()));
    for (const auto* ranges : {&saved, &written}) {
      for (const Range& r : *ranges) rest += raw(r.offset) + raw(r.length.value_or(r.bytes.size()));
    }
    for (const auto* ranges : {&saved, &written}) {
      for (const Range& r : *ranges) rest += r.bytes;
    }
    return "MRROPEJ2" + raw(phase) + raw(std::uint64_t{XXH3_64bits(rest.data(), rest.size())}) + rest;
  }
};

// A model of some size, so that data stays and is told from headers.
std::string large() { return small_model().tensor("more", {2560}, 0, 10240).bytes(); }

GgufEdits extension() {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(131072));
  edits.set("mrrope.plan", GgufValue::text(std::string(3000, 'p')));
  edits.add_tensor("rope_freqs.weight", {1, 2, 3, 4, 5});
  return edits;
}

class GgufJournal : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::can_insert_ranges(folder_))
      GTEST_SKIP() << "the file system of " << folder_ / ""
                   << " cannot insert ranges";
  }

  // A change that stopped before its `at`-th effect; false if it has fewer.
  bool interrupt(int at, const std::string& bytes = large()) {
    fs::remove(path_);
    fs::remove(journal_);
    folder_.write("model.gguf", bytes);
    int count = 0;
    const Steps steps{.go_on = [&] { return count++ != at; }, .piece = 1024};
    return !formats::edit_in_place(*read_gguf(path_), extension(), steps);
  }
  void plant(const std::string& journal) const { folder_.write("model.gguf.mrrope-journal", journal); }
  [[nodiscard]] std::string bytes() const { return read_bytes(path_); }

  // Recovery says no, and neither file has changed.
  void expect_refused(const std::string& part, const std::string& what) {
    const std::string model = bytes(), journal = read_bytes(journal_);
    const Result<bool> recovered = recover_gguf(path_);
    ASSERT_FALSE(recovered) << what;
    EXPECT_NE(recovered.error().message.find(part), std::string::npos) << what << ": " << recovered.error().message;
    EXPECT_TRUE(bytes() == model) << what;
    EXPECT_TRUE(read_bytes(journal_) == journal) << what;
  }

  TempFolder folder_;
  std::string path_ = folder_ / "model.gguf";
  std::string journal_ = folder_ / "model.gguf.mrrope-journal";
};

// ---- Whose it is ---------------------------------------------------------------------------------------------------

TEST_F(GgufJournal, OfAnotherUserIsNotBelieved) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(interrupt(6));
  ASSERT_EQ(::chown(journal_.c_str(), 4242, static_cast<gid_t>(-1)), 0);
  expect_refused("neither you nor the owner", "of a stranger");
  ASSERT_EQ(::chown(path_.c_str(), 4243, static_cast<gid_t>(-1)), 0);
  expect_refused("neither you nor the owner", "of a stranger, beside a file of another user");
  ASSERT_EQ(::chown(path_.c_str(), 4242, static_cast<gid_t>(-1)), 0);
  EXPECT_TRUE(*recover_gguf(path_)) << "the owner of the model has a say in it";
  EXPECT_EQ(bytes(), large());
}

TEST_F(GgufJournal, ThatOthersMayHaveWrittenIsNotBelieved) {
  ASSERT_TRUE(interrupt(6));
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  ASSERT_EQ(::chmod(journal_.c_str(), 0666), 0);
  expect_refused("may write to it who may not write to the model", "of mode 666");
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  EXPECT_TRUE(*recover_gguf(path_)) << "who may write to the model";
}

TEST_F(GgufJournal, ThatIsNoFileIsNotFollowed) {
  ASSERT_TRUE(interrupt(6));
  const std::string half = bytes();
  fs::rename(journal_, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", journal_);
  expect_refused("symbolic link", "a link");
  fs::remove(journal_);
  fs::create_symlink(folder_ / "nowhere", journal_);
  expect_refused("symbolic link", "a link to nothing");
  fs::remove(journal_);
  ASSERT_EQ(::mkfifo(journal_.c_str(), 0600), 0);
  EXPECT_FALSE(recover_gguf(path_)) << "a pipe, which would be waited for";
  fs::remove(journal_);
  fs::create_directory(journal_);
  EXPECT_FALSE(recover_gguf(path_)) << "a folder";
  EXPECT_EQ(bytes(), half);
}

TEST_F(GgufJournal, HasTheModesAndTheOwnerOfTheModel) {
  for (const mode_t mode : {0600U, 0640U, 0644U}) {
    fs::remove(path_);
    folder_.write("model.gguf", large());
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(path_.c_str(), 4242, 4243), 0);
    }
    int count = 0;
    const Steps steps{.go_on = [&] { return count++ != 2; }};
    ASSERT_FALSE(formats::edit_in_place(*read_gguf(path_), extension(), steps));
    struct stat model {
    }, journal{};
    ASSERT_EQ(::stat(path_.c_str(), &model), 0);
    ASSERT_EQ(::stat(journal_.c_str(), &journal), 0);
    EXPECT_EQ(journal.st_mode & 07777U, mode);
    EXPECT_EQ(journal.st_uid, model.st_uid);
    EXPECT_EQ(journal.st_gid, model.st_gid);
    EXPECT_TRUE(*recover_gguf(path_));
  }
}

// ---- What it says --------------------------------------------------------------------------------------------------

TEST_F(GgufJournal, ThatCannotBeIsRefusedBeforeAnythingIsWritten) {
  ASSERT_TRUE(interrupt(6));
  const Fields sound = Fields::parse(read_bytes(journal_));
  ASSERT_EQ(sound.bytes(), read_bytes(journal_)) << "this test knows the format";
  const std::uint64_t header = sound.saved[0].bytes.size();
  const auto negative = [](std::uint64_t value) { return ~value + 1; };
  const std::vector<std::pair<const char*, std::function<void(Fields&)>>> lies = {
      {"no regions", [](Fields& f) { f.saved.clear(); }},
      {"nothing written", [](Fields& f) { f.written.clear(); }},
      {"more regions than there are", [](Fields& f) { f.saved_count = 3; }},
      {"regions without end", [](Fields& f) { f.saved_count = ~std::uint64_t{0}; }},
      {"counts that overflow", [](Fields& f) { f.saved_count = f.written_count = std::uint64_t{1} << 63; }},
      {"a header elsewhere", [](Fields& f) { f.saved[0].offset = 32; }},
      {"no header", [](Fields& f) { f.saved[0].bytes[0] = 'X'; }},
      {"no new header", [](Fields& f) { f.written[0].bytes[3] = 'X'; }},
      {"a header of four bytes", [](Fields& f) { f.saved[0].bytes.resize(4); }},
      {"a region twice", [](Fields& f) { f.saved.push_back(f.saved[0]); }},
      {"regions that overlap",
       [&](Fields& f) {
         f.saved.push_back({header - 1, std::string(8, 'x')});
       }},
      {"an empty region",
       [&](Fields& f) {
         f.saved.push_back({header, ""});
       }},
      {"a region beyond the file",
       [](Fields& f) {
         f.saved.push_back({f.old_size - 4, std::string(8, 'x')});
       }},
      {"a region at the end of numbers",
       [](Fields& f) {
         f.saved.push_back({~std::uint64_t{0} - 3, std::string(8, 'x')});
       }},
      {"a region longer than its bytes", [](Fields& f) { f.saved[0].length = f.saved[0].bytes.size() + 1; }},
      {"a shift inside a block", [](Fields& f) { f.shift = 100; }},
      {"a shift beyond any header", [](Fields& f) { f.shift = std::uint64_t{1} << 30; }},
      {"a shift that takes the header out", [&](Fields& f) { f.shift = negative((header + 511) / 512 * 512); }},
      {"the least of shifts", [](Fields& f) { f.shift = std::uint64_t{1} << 63; }},
      {"an old file without end", [](Fields& f) { f.old_size = ~std::uint64_t{0}; }},
      {"an old file of four bytes", [](Fields& f) { f.old_size = 4; }},
      {"a new file without end", [](Fields& f) { f.new_size = ~std::uint64_t{0}; }},
      {"a new file of four bytes", [](Fields& f) { f.new_size = 4; }},
      {"phase 0", [](Fields& f) { f.phase = 0; }},
      {"phase 3", [](Fields& f) { f.phase = 3; }}};
  for (const auto& [name, lie] : lies) {
    Fields f = sound;
    lie(f);
    plant(f.bytes());
    expect_refused("damaged journal", name);
  }
  plant(sound.bytes());
  EXPECT_TRUE(*recover_gguf(path_));
  EXPECT_EQ(bytes(), large());
}

// Planted beside a sound model, true to the format: it wants the file cut, shifted or overwritten.
TEST_F(GgufJournal, CannotTakeAByteThatItDoesNotHold) {
  const std::string model = large();
  folder_.write("model.gguf", model);
  const std::string header = "GGUF" + std::string(20, 'x');
  const std::uint64_t empty = XXH3_64bits(nullptr, 0);
  for (const std::uint64_t phase : {1U, 2U}) {
    for (const std::uint64_t hash : {empty, std::uint64_t{0}}) {
      for (const std::string& old : {header, model.substr(0, 64), model.substr(0, 24)}) {
        for (const std::string& now : {header, model.substr(0, 64), model.substr(0, model.size() - 1)}) {
          for (const std::uint64_t new_size : {model.size(), 2 * model.size()}) {
            plant(Fields{phase, old.size(), new_size, 0, hash, {{0, old}}, {{0, now}}, {}, {}}.bytes());
            expect_refused("", "cut");
            const std::string more = old + std::string(5000, 'y');
            plant(Fields{phase, more.size(), new_size, ~std::uint64_t{4096} + 1, hash, {{0, more}}, {{0, now}}, {}, {}}
                      .bytes());
            expect_refused("", "shifted");
          }
        }
      }
    }
  }
}

TEST_F(GgufJournal, OfAnotherModelWithTheSameHeaderIsNotApplied) {
  for (int at = 1; interrupt(at); ++at) {
    // Its data differs in one byte where none was to be changed
    std::string other = bytes();
    const std::size_t place = other.rfind("abc");
    ASSERT_NE(place, std::string::npos);
    other[place] = 'Z';
    folder_.write("model.gguf", other);
    expect_refused("delete the journal", "step " + std::to_string(at));
  }
}

// Any lie, with a right checksum: the data of the model is there afterwards.
TEST_F(GgufJournal, NoLieTakesTheDataAway) {
  std::mt19937_64 random(5);  // NOLINT(cert-msc51-cpp): the same lies every time
  const std::string data = small_model().tensor("more", {2560}, 0, 10240).data;
  for (const int at : {1, 2, 3, 6, 9}) {
    ASSERT_TRUE(interrupt(at));
    const Fields sound = Fields::parse(read_bytes(journal_));
    const std::string half = bytes();
    const std::vector<std::uint64_t> sizes = {0, 24, 512, 4096, 8192, half.size(), sound.old_size, sound.new_size};
    for (int i = 0; i < 120; ++i) {
      Fields f = sound;
      for (int lies = 0; lies < 1 + i % 3; ++lies) {
        const std::uint64_t value = sizes[random() % sizes.size()] + (random() % 3) * 512 * (random() % 2);
        switch (random() % 7) {
          case 0: f.phase = 1 + random() % 2; break;
          case 1: f.old_size = value; break;
          case 2: f.new_size = value; break;
          case 3: f.shift = random() % 2 == 0 ? value : ~value + 1; break;
          case 4: f.kept_hash = random() % 2 == 0 ? XXH3_64bits(nullptr, 0) : random(); break;
          case 5: f.saved[0].bytes.resize(value, 'x'); break;
          default: f.written[0].bytes.resize(value, 'x'); break;
        }
      }
      folder_.write("model.gguf", half);
      plant(f.bytes());
      const Result<bool> recovered = recover_gguf(path_);
      if (!recovered) {
        ASSERT_TRUE(bytes() == half) << "step " << at << ", lie " << i << ": " << recovered.error().message;
      }
      ASSERT_NE(bytes().find(data), std::string::npos) << "step " << at << ", lie " << i;
    }
  }
}

// ---- Which file it is for ------------------------------------------------------------------------------------------

// Backups, moved disks: the inode is another one, the bytes are the same.
TEST_F(GgufJournal, ACopyOfModelAndJournalIsRecovered) {
  for (int at = 1; interrupt(at); ++at) {
    const TempFolder elsewhere;
    fs::copy_file(path_, elsewhere / "renamed.gguf");
    fs::copy_file(journal_, elsewhere / "renamed.gguf.mrrope-journal");
    const Result<bool> recovered = recover_gguf(elsewhere / "renamed.gguf");
    ASSERT_TRUE(recovered) << "step " << at << ": " << to_string(recovered.error());
    EXPECT_TRUE(*recovered);
    EXPECT_EQ(read_bytes(elsewhere / "renamed.gguf"), large()) << "step " << at;
    EXPECT_EQ(elsewhere.names(), std::vector<std::string>{"renamed.gguf"});
  }
}

// A second hard link shows no journal: the file was changed through it, and the old journal took that back.
TEST_F(GgufJournal, ALaterChangeIsNotTakenBack) {
  int last = 1;
  while (interrupt(last)) ++last;
  for (const int at : {1, last - 1}) {
    ASSERT_TRUE(interrupt(at));
    fs::rename(journal_, folder_ / "hidden");
    GgufEdits later;
    later.set("llama.context_length", GgufValue::u32(65536));
    if (at == 1) later.set("mrrope.plan", GgufValue::text(std::string(3000, 'q')));
    const auto done = edit_gguf_in_place(*read_gguf(path_), later);
    ASSERT_TRUE(done) << to_string(done.error());
    fs::rename(folder_ / "hidden", journal_);
    expect_refused("it has been changed since", "stopped at " + std::to_string(at));
  }
}

}  // namespace
}  // namespace mrrope

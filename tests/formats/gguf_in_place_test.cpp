// SPDX-License-Identifier: MIT
//
// Changes in place, their inverse, and what is left after every possible interruption.
#include "formats/gguf_in_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "formats/gguf_parse.h"
#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

// What is on disk and what is only on its way there looks the same to a process, and waiting would be most of the time
// of these tests. tests/formats/faults_test.py runs the real one.
extern "C" int fsync(int /*descriptor*/) { return 0; }

// xfs shifts the blocks and sets the size in two steps, and a signal can come between them: the call fails half done.
namespace {
enum class Fallocate { works, shifts_only, sizes_only } fallocate_mode = Fallocate::works;
}
extern "C" int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  const off_t grown = size + (mode == FALLOC_FL_INSERT_RANGE ? length : -length);
  if (fallocate_mode == Fallocate::works)
    return static_cast<int>(::syscall(SYS_fallocate, descriptor, mode, offset, length));
  if (fallocate_mode == Fallocate::shifts_only) (void)::syscall(SYS_fallocate, descriptor, mode, offset, length);
  const off_t left = fallocate_mode == Fallocate::shifts_only ? std::max(size, grown) : grown;
  if (::ftruncate(descriptor, left) == 0) errno = EINTR;
  return -1;
}

namespace mrrope {
namespace {

using formats::Steps;
using test::GgufBuilder;
using test::raw;
using test::read_bytes;
using test::small_model;
using test::TempFolder;

// Where ranges cannot be inserted, all that can be tested is that we say so.
class GgufInPlace : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::can_insert_ranges(folder_))
      GTEST_SKIP() << "the file system of " << folder_ / ""
                   << " cannot insert ranges";
  }

  GgufModel model(const std::string& bytes) {
    Result<GgufModel> read = read_gguf(folder_.write("model.gguf", bytes));
    EXPECT_TRUE(read) << to_string(read.error());
    return std::move(*read);
  }
  GgufModel again() {
    Result<GgufModel> read = read_gguf(path_);
    EXPECT_TRUE(read) << to_string(read.error());
    return std::move(*read);
  }
  void edit(const GgufEdits& edits) {
    const auto edited = edit_gguf_in_place(again(), edits);
    EXPECT_TRUE(edited) << to_string(edited.error());
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"model.gguf"}) << "the journal is gone";
  }
  [[nodiscard]] std::string bytes() const { return read_bytes(path_); }

  TempFolder folder_;
  std::string path_ = folder_ / "model.gguf";
};

// What an extension does, and its inverse.
GgufEdits extension() {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(131072));
  edits.set("llama.rope.scaling.type", GgufValue::text("none"));
  edits.set("llama.rope.scaling.attn_factor", GgufValue::f32(1.2F));
  edits.set("mrrope.plan", GgufValue::text(std::string(3000, 'p')));
  edits.add_tensor("rope_freqs.weight", {1, 2, 3, 4, 5});
  return edits;
}
GgufEdits inverse() {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(8192));
  for (const char* key : {"llama.rope.scaling.type", "llama.rope.scaling.attn_factor", "mrrope.plan"})
    edits.remove(key);
  edits.removed_tensors = {"rope_freqs.weight"};
  return edits;
}

// ---- Changes -------------------------------------------------------------------------------------------------------

TEST_F(GgufInPlace, AHeaderThatGrowsKeepsTheDataInItsBlocks) {
  const GgufModel before = model(small_model().bytes());
  edit(extension());
  const GgufModel after = again();
  EXPECT_EQ((after.head().data_offset - before.head().data_offset) % 4096, 0U);
  EXPECT_EQ(after.find("context_length")->number(), 131072);
  EXPECT_EQ(after.head().entries.back().key, "mrrope.padding");
  EXPECT_EQ(*read_f32_tensor(after, "rope_freqs.weight"), (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(bytes().substr(after.head().data_offset, small_model().data.size()), small_model().data);
}

TEST_F(GgufInPlace, ValuesOfTheSameSizeAreOverwritten) {
  model(small_model().bytes());
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(9));
  edits.add_tensor("output_norm.weight", std::vector<float>(9, 3));
  edit(edits);
  EXPECT_EQ(bytes().size(), small_model().bytes().size());
  EXPECT_EQ(again().find("context_length")->number(), 9);
  EXPECT_EQ(*read_f32_tensor(again(), "output_norm.weight"), std::vector<float>(9, 3));
}

TEST_F(GgufInPlace, AHeaderThatShrinksIsFilledUp) {
  model(small_model().text("long", std::string(900, 'x')).bytes());
  GgufEdits edits;
  edits.remove("long");
  edit(edits);
  EXPECT_EQ(again().head().find("long"), nullptr);
  EXPECT_EQ(again().head().tensors, model(small_model().bytes()).head().tensors);
}

TEST_F(GgufInPlace, AHeaderThatShrinksByBlocksTakesThemOut) {
  const std::string large = small_model().text("long", std::string(22000, 'x')).bytes();
  model(large);
  GgufEdits edits;
  edits.remove("long");
  edit(edits);
  EXPECT_EQ(large.size() - bytes().size(), 5 * 4096U);
  const GgufModel after = again();
  EXPECT_EQ(bytes().substr(after.head().data_offset, small_model().data.size()), small_model().data);
}

TEST_F(GgufInPlace, EachEditBuildsOnTheLast) {
  model(small_model().bytes());
  edit(extension());
  GgufEdits edits;
  edits.set("mrrope.plan", GgufValue::text(std::string(9000, 'q')));
  edits.add_tensor("rope_freqs.weight", {5, 4, 3, 2, 1});
  edit(edits);
  EXPECT_EQ(*read_f32_tensor(again(), "rope_freqs.weight"), (std::vector<float>{5, 4, 3, 2, 1}));
  EXPECT_EQ(again().head().find("mrrope.plan")->text()->size(), 9000U);
  edit(inverse());
  EXPECT_EQ(bytes(), small_model().bytes());
}

// ---- Inverse -------------------------------------------------------------------------------------------------------

TEST_F(GgufInPlace, TheInverseGivesTheOldBytesBack) {
  std::vector<std::string> models = {small_model().bytes(), small_model().bytes(false)};
  for (const std::uint32_t alignment : {1U, 8U, 4096U, 16384U}) {
    GgufBuilder b;
    b.alignment = alignment;
    b.text("general.architecture", "llama").u32("general.alignment", alignment).u32("llama.context_length", 8192);
    b.tensor("x", {3}, 0, 12).tensor("y", {32}, 2, 18);
    models.push_back(b.bytes());
    models.push_back(b.bytes(false));
  }
  for (const bool pad_last : {true, false})
    models.push_back(small_model().tensor("last", {7}, 4321, 33).bytes(pad_last));
  // Without tensors, padded and not.
  const GgufBuilder none = GgufBuilder().text("general.architecture", "llama").u32("llama.context_length", 8192);
  models.push_back(none.bytes());
  models.push_back(none.magic + none.version + raw(std::uint64_t{0}) + raw(std::uint64_t{2}) + none.kvs);
  // Headers that end at, before and after a block.
  for (std::size_t extra = 3000; extra < 3200; extra += 7)
    models.push_back(small_model().text("x", std::string(extra, 'x')).bytes());

  for (const std::string& old : models) {
    model(old);
    edit(extension());
    ASSERT_NE(bytes(), old);
    edit(inverse());
    ASSERT_EQ(bytes(), old) << "of " << old.size() << " bytes";
  }
}

TEST_F(GgufInPlace, RelabellingBackGivesTheOldBytesBack) {
  model(small_model().bytes());
  GgufEdits there, back;
  there.architecture = "exaone-moe-of-a-long-name";
  there.set("exaone-moe-of-a-long-name.expert_count", GgufValue::u32(3));
  edit(there);
  EXPECT_EQ(again().find("context_length")->number(), 8192);
  back.architecture = "llama";
  back.remove("llama.expert_count");
  edit(back);
  EXPECT_EQ(bytes(), small_model().bytes());
}

TEST_F(GgufInPlace, ACopyOfAChangedFileHasNoPadding) {
  model(small_model().bytes());
  edit(extension());
  GgufEdits edits = inverse();
  EXPECT_TRUE(write_gguf(again(), edits, folder_ / "copy.gguf"));
  EXPECT_EQ(read_bytes(folder_ / "copy.gguf"), small_model().bytes());
}

// ---- Refusals ------------------------------------------------------------------------------------------------------

TEST_F(GgufInPlace, AFileThatChangedSinceItWasReadIsLeftAlone) {
  const GgufModel old = model(small_model().bytes());
  const std::string other = small_model().u32("another", 1).bytes();
  model(other);
  EXPECT_EQ(edit_gguf_in_place(old, extension()).error().code, ErrorCode::inconsistent);
  EXPECT_EQ(bytes(), other);
}

// llama-server with the model mapped would go on with shifted weights.
TEST_F(GgufInPlace, AFileThatIsOpenElsewhereIsLeftAlone) {
  const GgufModel old = model(small_model().bytes());
  const int other = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const auto edited = edit_gguf_in_place(old, extension());
  ::close(other);
  ASSERT_FALSE(edited);
  EXPECT_NE(edited.error().message.find("open in another program"), std::string::npos) << edited.error().message;
  EXPECT_EQ(bytes(), small_model().bytes());
  edit(extension());
}

TEST_F(GgufInPlace, UnknownBytesBeforeTheDataAreNotLost) {
  GgufBuilder b = small_model();
  b.text("x", "1");
  b.gap = std::string(64, '#');
  EXPECT_EQ(edit_gguf_in_place(model(b.bytes()), extension()).error().code, ErrorCode::unsupported);
  EXPECT_EQ(bytes(), b.bytes());
}

TEST(GgufInPlaceElsewhere, AFileSystemThatCannotInsertARangeIsNamed) {
  const TempFolder folder("/dev/shm");
  const std::string path = folder.write("model.gguf", small_model().bytes());
  const auto edited = edit_gguf_in_place(*read_gguf(path), extension());
  if (edited) GTEST_SKIP() << "/dev/shm can insert ranges";
  EXPECT_EQ(edited.error().code, ErrorCode::unsupported) << to_string(edited.error());
  EXPECT_EQ(read_bytes(path), small_model().bytes());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.gguf"});
}

TEST_F(GgufInPlace, NoEditsTouchNothing) {
  const GgufModel old = model(small_model().bytes());
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  EXPECT_TRUE(edit_gguf_in_place(old, {}));
}

// ---- Interruptions -------------------------------------------------------------------------------------------------

// Stops before the `at`-th effect on the disk; small pieces, so that headers are torn too.
Steps stop_at(int at, int& count) {
  count = 0;
  return {.go_on = [at, &count] { return count++ != at; }, .piece = 1024};
}

struct Change {
  const char* name;
  std::string bytes;
  GgufEdits edits;
};

std::vector<Change> changes() {
  GgufEdits same, remove, all;
  same.set("llama.context_length", GgufValue::u32(9));
  same.add_tensor("output_norm.weight", std::vector<float>(9, 3));
  remove.remove("long");
  // Takes out as many bytes at the end as it inserts at the front: the size does not tell how far it came.
  all.set("mrrope.plan", GgufValue::text(std::string(3000, 'p')));
  all.removed_tensors = {"tail"};
  const GgufBuilder empty = GgufBuilder().text("general.architecture", "llama").u32("llama.context_length", 8192);
  return {{"grows", small_model().bytes(), extension()},
          {"grows, not padded at the end", small_model().bytes(false), extension()},
          {"stays", small_model().bytes(), same},
          {"shrinks", small_model().text("long", std::string(20000, 'x')).bytes(), remove},
          {"grows and shrinks by the same", small_model().tensor("tail", {1024}, 0, 4096).bytes(), all},
          {"has no data", empty.bytes(), extension()}};
}

TEST_F(GgufInPlace, AnInterruptionAtAnyStepIsUndone) {
  int steps = 0;
  for (const Change& change : changes()) {
    for (int at = 0;; ++at) {
      const GgufModel old = model(change.bytes);
      const auto edited = formats::edit_in_place(old, change.edits, stop_at(at, steps));
      if (edited) {
        EXPECT_GT(at, 5) << change.name;
        break;
      }
      // While the journal is there, nobody reads or changes the file.
      const bool journal = folder_.names().size() == 2;
      EXPECT_EQ(journal, at > 0) << change.name << ", step " << at;
      if (journal) {
        EXPECT_NE(read_gguf(path_).error().message.find("interrupted"), std::string::npos);
        EXPECT_NE(edit_gguf_in_place(old, change.edits).error().message.find("interrupted"), std::string::npos);
      }
      const Result<bool> undone = recover_gguf(path_);
      ASSERT_TRUE(undone) << change.name << ", step " << at << ": " << to_string(undone.error());
      EXPECT_EQ(*undone, journal);
      ASSERT_EQ(bytes(), change.bytes) << change.name << ", step " << at;
      EXPECT_EQ(folder_.names(), std::vector<std::string>{"model.gguf"});
      EXPECT_FALSE(*recover_gguf(path_)) << "nothing is left to do";
    }
  }
}

TEST_F(GgufInPlace, RecoveryItselfMayBeInterruptedAtAnyStep) {
  int steps = 0;
  for (const Change& change : changes()) {
    for (int at = 1;; ++at) {
      bool interrupted = false;
      for (int again = 0;; ++again) {
        const auto edited = formats::edit_in_place(model(change.bytes), change.edits, stop_at(at, steps));
        if (edited) break;
        interrupted = true;
        const Result<bool> first = formats::recover(path_, stop_at(again, steps));
        if (first) break;
        const Result<bool> second = recover_gguf(path_);
        ASSERT_TRUE(second) << change.name << ", steps " << at << ", " << again << ": " << to_string(second.error());
        ASSERT_EQ(bytes(), change.bytes) << change.name << ", steps " << at << ", " << again;
      }
      if (!interrupted) break;
      ASSERT_EQ(bytes(), change.bytes);
    }
  }
}

// Found by faults_test.py on xfs: the file was shifted, its size said that it was not. An insertion sets the size
// first, a collapse last, so that the size is never too small.
TEST_F(GgufInPlace, AShiftThatIsHalfDoneIsUndone) {
  for (const Change& change : changes()) {
    for (const Fallocate mode : {Fallocate::shifts_only, Fallocate::sizes_only}) {
      const bool collapses = std::string(change.name) == "shrinks";
      if (collapses && mode == Fallocate::sizes_only) continue;
      const GgufModel old = model(change.bytes);
      fallocate_mode = mode;
      const auto edited = formats::edit_in_place(old, change.edits, {});
      fallocate_mode = Fallocate::works;
      if (edited) continue;  // nothing had to be shifted
      EXPECT_TRUE(recover_gguf(path_)) << change.name;
      EXPECT_EQ(bytes(), change.bytes) << change.name;
      EXPECT_EQ(folder_.names(), std::vector<std::string>{"model.gguf"});
    }
  }
}

TEST_F(GgufInPlace, RecoveryFollowsSymbolicLinks) {
  int steps = 0;
  model(small_model().bytes());
  TempFolder elsewhere;
  std::filesystem::create_symlink(path_, elsewhere / "link.gguf");
  EXPECT_FALSE(formats::edit_in_place(*read_gguf(elsewhere / "link.gguf"), extension(), stop_at(6, steps)));
  EXPECT_EQ(elsewhere.names().size(), 1U);
  EXPECT_TRUE(*recover_gguf(path_));
  EXPECT_EQ(bytes(), small_model().bytes());
}

// A limit of the file's size stands for a full disk: the range is inserted and the header written, the tensor is not.
TEST_F(GgufInPlace, WhatTheDiskRefusesIsUndoneAtOnce) {
  const GgufModel old = model(small_model().bytes());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{old.head().file_size + 4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto edited = edit_gguf_in_place(old, extension());
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().message, "cannot write: File too large");
  EXPECT_EQ(bytes(), small_model().bytes());
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"model.gguf"});
}

// ---- Journals that are not to be applied ---------------------------------------------------------------------------

TEST_F(GgufInPlace, AJournalOfAReplacedFileIsNotApplied) {
  int steps = 0;
  for (const int at : {1, 6}) {
    EXPECT_FALSE(formats::edit_in_place(model(small_model().bytes()), extension(), stop_at(at, steps)));
    const std::string other = small_model().u32("another", 1).bytes();
    folder_.write("new", other);
    std::filesystem::rename(folder_ / "new", path_);
    EXPECT_EQ(recover_gguf(path_).error().code, ErrorCode::inconsistent);
    EXPECT_EQ(bytes(), other);
    std::filesystem::remove(formats::journal_path(path_));
  }
}

// Downloaded again after the crash: the file is what the journal would make of it.
TEST_F(GgufInPlace, AJournalIsRemovedIfTheFileIsTheOldOneAlready) {
  int steps = 0;
  EXPECT_FALSE(formats::edit_in_place(model(small_model().bytes()), extension(), stop_at(6, steps)));
  std::filesystem::remove(path_);
  folder_.write("model.gguf", small_model().bytes());
  EXPECT_TRUE(*recover_gguf(path_));
  EXPECT_EQ(bytes(), small_model().bytes());
  EXPECT_TRUE(read_gguf(path_));
}

TEST_F(GgufInPlace, ADamagedJournalIsNotApplied) {
  int steps = 0;
  EXPECT_FALSE(formats::edit_in_place(model(small_model().bytes()), extension(), stop_at(6, steps)));
  const std::string journal = formats::journal_path(path_);
  const std::string sound = read_bytes(journal), half = bytes();
  for (std::size_t i = 0; i < sound.size(); i += i < 100 ? 1 : 97) {
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    std::ofstream(journal, std::ios::binary) << damaged;
    EXPECT_EQ(recover_gguf(path_).error().code, ErrorCode::malformed) << i;
    std::ofstream(journal, std::ios::binary) << sound.substr(0, i);
    EXPECT_EQ(recover_gguf(path_).error().code, ErrorCode::malformed) << i;
  }
  EXPECT_EQ(bytes(), half);
  std::ofstream(journal, std::ios::binary) << sound;
  EXPECT_TRUE(*recover_gguf(path_));
  EXPECT_EQ(bytes(), small_model().bytes());
}

}  // namespace
}  // namespace mrrope

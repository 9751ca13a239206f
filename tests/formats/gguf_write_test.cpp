// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>

#include "files/file.h"
#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using test::GgufBuilder;
using test::read_bytes;
using test::small_model;
using test::TempFolder;

// A model of 100 MB of data, so that a copy takes several chunks.
const GgufBuilder& large_model() {
  static const GgufBuilder model = small_model().tensor("large", {25'000'000}, 0, 100'000'000);
  return model;
}

struct Source {
  TempFolder folder;
  std::string path;
  GgufModel model;
  explicit Source(const GgufBuilder& builder = small_model())
      : path(folder.write("model.gguf", builder.bytes())), model(*read_gguf(path)) {}
};

GgufEdits some_edits() {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(32768));
  edits.set("mrrope.version", GgufValue::text("1"));
  edits.add_tensor("rope_freqs.weight", std::vector<float>(32, 2));
  return edits;
}

// ---- Copies --------------------------------------------------------------------------------------------------------

TEST(GgufWrite, ACopyHasTheEditsAndTheSameData) {
  const Source source(large_model());
  const std::string target = source.folder / "copy.gguf";
  const auto done = write_gguf(source.model, some_edits(), target);
  ASSERT_TRUE(done) << to_string(done.error());
  const Result<GgufFile> copy = read_gguf_file(target);
  ASSERT_TRUE(copy) << to_string(copy.error());
  const std::string bytes = read_bytes(target);
  EXPECT_TRUE(bytes.substr(copy->data_offset, large_model().data.size()) == large_model().data);
  EXPECT_TRUE(read_bytes(source.path) == large_model().bytes());
}

TEST(GgufWrite, CopiesAreReadableByAllThatTheUmaskAllows) {
  const Source source;
  ASSERT_EQ(::chmod(source.path.c_str(), 0644), 0);
  const mode_t mask = ::umask(022);
  EXPECT_TRUE(write_gguf(source.model, {}, source.folder / "copy.gguf"));
  EXPECT_TRUE(write_gguf(source.model, {}, source.folder / "copy.gguf", {.overwrite = true}));
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat((source.folder / "copy.gguf").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST(GgufWrite, ProgressGoesFromNothingToAll) {
  const Source source(large_model());
  std::vector<std::uint64_t> calls;
  std::uint64_t all = 0;
  EXPECT_TRUE(write_gguf(source.model, some_edits(), source.folder / "copy.gguf",
                         {.progress = [&](std::uint64_t done, std::uint64_t total) {
                           calls.push_back(done);
                           all = total;
                           return true;
                         }}));
  EXPECT_GE(calls.size(), 3U);
  EXPECT_TRUE(std::is_sorted(calls.begin(), calls.end()));
  EXPECT_EQ(calls.back(), all);
  EXPECT_EQ(all, large_model().data.size());
}

TEST(GgufWrite, AStoppedCopyLeavesNothingBehind) {
  const Source source(large_model());
  const auto stop = [](std::uint64_t done, std::uint64_t total) { return done * 2 < total; };
  const auto done = write_gguf(source.model, {}, source.folder / "copy.gguf", {.progress = stop});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "stopped before it was complete");
  EXPECT_EQ(source.folder.names(), std::vector<std::string>{"model.gguf"});
}

TEST(GgufWrite, AStoppedCopyLeavesTheOldTarget) {
  const Source source(large_model());
  source.folder.write("copy.gguf", "precious");
  const WriteOptions options{.overwrite = true, .progress = [](std::uint64_t, std::uint64_t) { return false; }};
  EXPECT_FALSE(write_gguf(source.model, {}, source.folder / "copy.gguf", options));
  EXPECT_EQ(read_bytes(source.folder / "copy.gguf"), "precious");
  EXPECT_EQ(source.folder.names().size(), 2U);
}

TEST(GgufWrite, AnExistingTargetIsReplacedOnlyWhenAsked) {
  const Source source;
  const std::string target = source.folder.write("copy.gguf", "precious");
  const auto done = write_gguf(source.model, {}, target);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(read_bytes(target), "precious");
  EXPECT_TRUE(write_gguf(source.model, {}, target, {.overwrite = true}));
  EXPECT_EQ(read_bytes(target), small_model().bytes());
  EXPECT_EQ(source.folder.names().size(), 2U);
}

// Somebody creates the target while we copy: it is theirs.
TEST(GgufWrite, ATargetThatAppearsMeanwhileIsKept) {
  const Source source(large_model());
  const std::string target = source.folder / "copy.gguf";
  const auto appear = [&](std::uint64_t, std::uint64_t) {
    source.folder.write("copy.gguf", "precious");
    return true;
  };
  EXPECT_FALSE(write_gguf(source.model, {}, target, {.progress = appear}));
  EXPECT_EQ(read_bytes(target), "precious");
}

TEST(GgufWrite, TheModelItselfIsNoTargetUnderAnyName) {
  const Source source;
  const std::string symbolic = source.folder / "symbolic.gguf", hard = source.folder / "hard.gguf";
  std::filesystem::create_symlink("model.gguf", symbolic);
  std::filesystem::create_hard_link(source.path, hard);
  for (const std::string& target : {source.path, source.folder / "./model.gguf", symbolic, hard}) {
    const auto done = write_gguf(source.model, some_edits(), target, {.overwrite = true});
    ASSERT_FALSE(done) << target;
    EXPECT_NE(done.error().message.find("the model itself"), std::string::npos) << done.error().message;
  }
  EXPECT_EQ(read_bytes(source.path), small_model().bytes());
}

TEST(GgufWrite, AFolderThatCannotBeWrittenIsAnError) {
  const Source source;
  EXPECT_EQ(write_gguf(source.model, {}, source.folder / "missing/copy.gguf").error().code, ErrorCode::io);
  EXPECT_EQ(write_gguf(source.model, {}, "/proc/copy.gguf").error().code, ErrorCode::io);
  std::filesystem::create_directory(source.folder / "folder.gguf");
  EXPECT_FALSE(write_gguf(source.model, {}, source.folder / "folder.gguf", {.overwrite = true}));
}

TEST(GgufWrite, AModelThatChangedSinceItWasReadIsNotCopied) {
  const Source source;
  std::string bytes = small_model().bytes();
  source.folder.write("model.gguf", bytes.substr(0, bytes.size() - 1));  // shorter: data is missing
  EXPECT_EQ(write_gguf(source.model, {}, source.folder / "copy.gguf").error().message,
            "the file has changed since it was read");
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  source.folder.write("model.gguf", bytes);  // another header of the same size
  EXPECT_EQ(write_gguf(source.model, {}, source.folder / "copy.gguf").error().message,
            "the file has changed since it was read");
  EXPECT_EQ(source.folder.names(), std::vector<std::string>{"model.gguf"});
}

TEST(GgufWrite, AModelThatShrinksWhileItIsCopiedIsAnError) {
  const Source source(large_model());
  const auto shrink = [&](std::uint64_t, std::uint64_t) { return ::truncate(source.path.c_str(), 40'000'000) == 0; };
  const auto done = write_gguf(source.model, some_edits(), source.folder / "copy.gguf", {.progress = shrink});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("ended at byte 40000000"), std::string::npos) << done.error().message;
  EXPECT_EQ(source.folder.names(), std::vector<std::string>{"model.gguf"});
}

// Another file system: no clone, no copy_file_range between some of them.
TEST(GgufWrite, CopiesBetweenFileSystems) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const Source source(large_model());
  const TempFolder memory("/dev/shm");
  EXPECT_TRUE(write_gguf(source.model, {}, memory / "copy.gguf"));
  EXPECT_TRUE(read_bytes(memory / "copy.gguf") == large_model().bytes());
  const auto back = read_gguf(memory / "copy.gguf");
  EXPECT_TRUE(write_gguf(*back, {}, source.folder / "back.gguf"));
  EXPECT_TRUE(read_bytes(source.folder / "back.gguf") == large_model().bytes());
}

// ---- The source meanwhile ------------------------------------------------------------------------------------------

// A download that goes on, a second program: early bytes were old, late ones new, and the status was 0.
TEST(GgufWrite, ASourceThatChangesWhileItIsCopiedGivesNoCopy) {
  const Source source(large_model());
  const std::string& path = source.path;
  const auto with = [&](const std::function<void()>& meanwhile) {
    // Long ago: a change now has another time even where clocks are coarse
    const std::array<timespec, 2> before = {{{1'000'000'000, 0}, {1'000'000'000, 0}}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), before.data(), 0), 0);
    return write_gguf(source.model, {}, source.folder / "copy.gguf", {.progress = [&](auto, auto) {
                        meanwhile();
                        return true;
                      }});
  };
  const std::vector<std::function<void()>> changes = {
      [&] { std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('X'); },
      [&] { std::ofstream(path, std::ios::app | std::ios::binary) << "more"; }};
  for (const auto& change : changes) {
    const auto done = with(change);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::inconsistent);
    EXPECT_NE(done.error().message.find("changed while it was copied"), std::string::npos) << done.error().message;
    EXPECT_EQ(source.folder.names().size(), 1U) << "no output";
    source.folder.write("model.gguf", large_model().bytes());
  }
  EXPECT_TRUE(with([] {}));
}

TEST(GgufWrite, ACopyIsReadableForNobodyWhoMayNotReadTheSource) {
  const Source source;
  const mode_t mask = ::umask(022);
  for (const auto& [mode, expected] : {std::pair(0600, 0600), {0640, 0640}, {0644, 0644}, {0666, 0644}, {0400, 0400}}) {
    ASSERT_EQ(::chmod(source.path.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_TRUE(write_gguf(source.model, {}, source.folder / "copy.gguf", {.overwrite = true}));
    struct stat status {};
    ASSERT_EQ(::stat((source.folder / "copy.gguf").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, static_cast<mode_t>(expected));
  }
  ::umask(mask);
}

// ---- Sidecars ------------------------------------------------------------------------------------------------------

TEST(GgufWrite, ASidecarIsASecondShard) {
  const TempFolder folder;
  GgufEdits edits;
  edits.add_tensor("rope_freqs.weight", {1, 2, 4, 8});
  const auto done = write_gguf_sidecar(edits, folder / "side.gguf");
  ASSERT_TRUE(done) << to_string(done.error());
  const Result<GgufFile> file = read_gguf_file(folder / "side.gguf");
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(*file->find("split.no"), GgufValue(GgufType::u16, test::raw(std::uint16_t{1})));
  EXPECT_EQ(*file->find("split.count"), GgufValue(GgufType::u16, test::raw(std::uint16_t{2})));
  EXPECT_EQ(*read_f32_tensor(GgufModel{{*file}}, "rope_freqs.weight"), (std::vector<float>{1, 2, 4, 8}));
  EXPECT_LT(file->file_size, 512U);
}

TEST(GgufWrite, ASidecarCompletesASplitModel) {
  const TempFolder folder;
  GgufBuilder first = small_model();
  first.kv("split.no", 2, test::raw(std::uint16_t{0})).kv("split.count", 2, test::raw(std::uint16_t{2}));
  folder.write("m-00001-of-00002.gguf", first.kv("split.tensors.count", 5, test::raw(std::int32_t{4})).bytes());
  GgufEdits edits;
  edits.add_tensor("rope_freqs.weight", {1});
  EXPECT_TRUE(write_gguf_sidecar(edits, folder / "m-00002-of-00002.gguf"));
  const Result<GgufModel> model = read_gguf(folder / "m-00001-of-00002.gguf");
  EXPECT_TRUE(model) << to_string(model.error());
}

TEST(GgufWrite, ASidecarRefusesWhatACopyRefuses) {
  const TempFolder folder;
  folder.write("side.gguf", "precious");
  GgufEdits edits;
  edits.add_tensor("x", {1});
  EXPECT_FALSE(write_gguf_sidecar(edits, folder / "side.gguf"));
  EXPECT_FALSE(write_gguf_sidecar(GgufEdits{}, folder / "empty.gguf"));
  EXPECT_EQ(read_bytes(folder / "side.gguf"), "precious");
  EXPECT_TRUE(write_gguf_sidecar(edits, folder / "side.gguf", {.overwrite = true}));
}

}  // namespace
}  // namespace mrrope

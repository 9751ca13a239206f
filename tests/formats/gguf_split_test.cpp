// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using test::GgufBuilder;
using test::raw;
using test::read_bytes;
using test::TempFolder;

std::string u16(std::uint16_t value) { return raw(value); }

// Shard `no` of `count`, each with one tensor; the first also has the metadata.
GgufBuilder shard(std::uint16_t no, std::uint16_t count, std::int32_t tensors) {
  GgufBuilder b;
  if (no == 0) b.text("general.architecture", "llama").u32("llama.context_length", 8192);
  b.kv("split.no", 2, u16(no)).kv("split.count", 2, u16(count)).kv("split.tensors.count", 5, raw(tensors));
  return b.tensor("tensor." + std::to_string(no), {8}, 0, 32);
}

std::string name(int number, int count) {
  char text[64];  // NOLINT(modernize-avoid-c-arrays)
  (void)std::snprintf(text, sizeof(text), "m-%05d-of-%05d.gguf", number, count);
  return text;
}

// A folder with a model of three shards.
struct ThreeShards {
  TempFolder folder;
  std::string first = folder / name(1, 3);
  ThreeShards() {
    for (int i = 0; i < 3; ++i) folder.write(name(i + 1, 3), shard(static_cast<std::uint16_t>(i), 3, 3).bytes());
  }
};

TEST(GgufSplit, AllShardsAreReadFromTheFirst) {
  const ThreeShards model;
  const Result<GgufModel> read = read_gguf(model.first);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->shards.size(), 3U);
  EXPECT_EQ(read->find("context_length")->number(), 8192);
  EXPECT_NE(read->find_tensor("tensor.2"), nullptr);
  EXPECT_TRUE(read_f32_tensor(*read, "tensor.2"));
}

TEST(GgufSplit, AMissingShardIsNamed) {
  const ThreeShards model;
  std::filesystem::remove(model.folder / name(2, 3));
  EXPECT_EQ(read_gguf(model.first).error().where, model.folder / name(2, 3));
}

TEST(GgufSplit, AnotherShardThanTheFirstIsRefusedWithTheNameOfTheFirst) {
  const ThreeShards model;
  const Error error = read_gguf(model.folder / name(2, 3)).error();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_EQ(error.message, "shard 2 of 3; give the first one: " + model.first);
}

TEST(GgufSplit, AShardWithAnotherNumberIsRefused) {
  const ThreeShards model;
  model.folder.write(name(2, 3), shard(2, 3, 3).bytes());
  EXPECT_EQ(read_gguf(model.first).error().message, "split.no is 2, expected 1");
  model.folder.write(name(2, 3), GgufBuilder().u32("x", 1).bytes());
  EXPECT_EQ(read_gguf(model.first).error().message, "the key split.no is missing");
  model.folder.write(name(2, 3), GgufBuilder().text("split.no", "1").bytes());
  EXPECT_EQ(read_gguf(model.first).error().code, ErrorCode::malformed);
}

TEST(GgufSplit, AShardOfAnotherCountIsRefused) {
  const ThreeShards model;
  model.folder.write(name(3, 3), shard(2, 4, 3).bytes());
  EXPECT_EQ(read_gguf(model.first).error().message, "split.count is 4, but the first shard says 3");
}

TEST(GgufSplit, ANameThatContradictsTheHeaderIsRefused) {
  const ThreeShards model;
  std::filesystem::copy(model.first, model.folder / "other.gguf");
  std::filesystem::copy(model.first, model.folder / name(1, 4));
  for (const std::string& path : {model.folder / "other.gguf", model.folder / name(1, 4)}) {
    EXPECT_EQ(read_gguf(path).error().code, ErrorCode::inconsistent);
    EXPECT_NE(read_gguf(path).error().message.find("-00001-of-00003.gguf"), std::string::npos);
  }
}

TEST(GgufSplit, ATotalThatIsNotTheSumIsRefused) {
  const ThreeShards model;
  model.folder.write(name(1, 3), shard(0, 3, 4).bytes());
  EXPECT_EQ(read_gguf(model.first).error().message, "split.tensors.count is 4, but the shards hold 3 tensors");
}

TEST(GgufSplit, ATensorInTwoShardsIsRefused) {
  const ThreeShards model;
  model.folder.write(name(3, 3), GgufBuilder().kv("split.no", 2, u16(2)).tensor("tensor.0", {8}, 0, 32).bytes());
  EXPECT_EQ(read_gguf(model.first).error().message, "two shards hold the tensor tensor.0");
}

TEST(GgufSplit, ADamagedShardIsRefusedByName) {
  const ThreeShards model;
  model.folder.write(name(2, 3), shard(1, 3, 3).bytes().substr(0, 100));
  EXPECT_TRUE(read_gguf(model.first).error().where.starts_with(model.folder / name(2, 3)));
}

TEST(GgufSplit, ACountOfOneIsASingleFileWhateverItsName) {
  const TempFolder folder;
  EXPECT_TRUE(read_gguf(folder.write("single.gguf", shard(0, 1, 1).bytes())));
  EXPECT_TRUE(read_gguf(folder.write(name(1, 9), GgufBuilder().u32("x", 1).bytes())));
}

TEST(GgufSplit, ACopyRewritesTheFirstShardAndCopiesTheOthers) {
  const ThreeShards model;
  const TempFolder out;
  const Result<GgufModel> read = read_gguf(model.first);
  ASSERT_TRUE(read);
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(32768));
  edits.add_tensor("rope_freqs.weight", {1, 2});
  const auto done = write_gguf(*read, edits, out / name(1, 3));
  ASSERT_TRUE(done) << to_string(done.error());
  const Result<GgufModel> copy = read_gguf(out / name(1, 3));
  ASSERT_TRUE(copy) << to_string(copy.error());
  EXPECT_EQ(copy->find("context_length")->number(), 32768);
  EXPECT_TRUE(read_f32_tensor(*copy, "rope_freqs.weight"));
  EXPECT_EQ(read_bytes(out / name(2, 3)), read_bytes(model.folder / name(2, 3)));
  EXPECT_EQ(read_bytes(out / name(3, 3)), read_bytes(model.folder / name(3, 3)));
}

TEST(GgufSplit, ACopyNeedsANameForAllShards) {
  const ThreeShards model;
  const TempFolder out;
  for (const std::string& target : {std::string("copy.gguf"), name(1, 4), name(2, 3)}) {
    const auto done = write_gguf(*read_gguf(model.first), {}, out / target);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(out.names().empty());
}

TEST(GgufSplit, ACopyThatWouldReplaceAnyShardWritesNothing) {
  const ThreeShards model;
  const TempFolder out;
  out.write(name(3, 3), "precious");
  EXPECT_FALSE(write_gguf(*read_gguf(model.first), {}, out / name(1, 3)));
  EXPECT_EQ(out.names(), std::vector<std::string>{name(3, 3)});
  EXPECT_EQ(read_bytes(out / name(3, 3)), "precious");
}

// Renames that were interrupted left shards of two models, which loaded as one.
TEST(GgufSplit, ASplitModelIsNotReplacedButWhatIsLeftOfACopyIs) {
  const ThreeShards model;
  const TempFolder out;
  for (const int i : {1, 2, 3}) out.write(name(i, 3), "another");
  const WriteOptions overwrite{.overwrite = true};
  EXPECT_FALSE(write_gguf(*read_gguf(model.first), {}, out / name(1, 3), overwrite));
  for (const int i : {1, 2, 3}) EXPECT_EQ(read_bytes(out / name(i, 3)), "another");
  std::filesystem::remove(out / name(1, 3));  // a copy that was killed has no first shard
  EXPECT_TRUE(write_gguf(*read_gguf(model.first), {}, out / name(1, 3), overwrite));
  for (const int i : {2, 3}) EXPECT_EQ(read_bytes(out / name(i, 3)), read_bytes(model.folder / name(i, 3)));
}

TEST(GgufSplit, ATensorOfAnotherShardIsNotEdited) {
  const ThreeShards model;
  GgufEdits edits;
  edits.add_tensor("tensor.1", std::vector<float>(8));
  EXPECT_EQ(write_gguf(*read_gguf(model.first), edits, model.folder / "x-00001-of-00003.gguf").error().code,
            ErrorCode::unsupported);
  EXPECT_EQ(edit_gguf_in_place(*read_gguf(model.first), edits).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace mrrope

// SPDX-License-Identifier: MIT
//
// One test per lie a header can tell. Bytes are parsed from allocations of their exact size, so that the sanitizer of
// the dev build sees a read beyond the end.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using test::GgufBuilder;
using test::raw;
using test::raw_text;
using test::small_model;

constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
constexpr std::uint64_t kWrap = ~std::uint64_t{0};

Result<GgufFile> parse(const std::string& bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());  // NOLINT: exact size
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return parse_gguf({copy.get(), bytes.size()}, bytes.size());
}

void expect_refused(const std::string& bytes, ErrorCode code, const std::string& where, const std::string& message) {
  const Result<GgufFile> file = parse(bytes);
  ASSERT_FALSE(file) << "parsed";
  EXPECT_EQ(file.error().code, code) << to_string(file.error());
  EXPECT_NE(file.error().where.find(where), std::string::npos) << file.error().where;
  EXPECT_NE(file.error().message.find(message), std::string::npos) << file.error().message;
}

TEST(GgufLies, TheModelTheLiesAreMadeOfIsSound) {
  const Result<GgufFile> file = parse(small_model().bytes());
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->tensors.size(), 3U);
  EXPECT_EQ(file->entries.size(), 7U);
}

// ---- The first 24 bytes --------------------------------------------------------------------------------------------

TEST(GgufLies, AnotherMagicIsNamed) {
  GgufBuilder b = small_model();
  b.magic = "PK\x03\x04";
  expect_refused(b.bytes(), ErrorCode::malformed, "magic", "found \"PK??\"");
}

TEST(GgufLies, AnEmptyFileIsRefused) { expect_refused("", ErrorCode::malformed, "magic", "the file ends at byte 0"); }

TEST(GgufLies, Version1IsRefusedByName) {
  GgufBuilder b = small_model();
  b.version = raw(std::uint32_t{1});
  expect_refused(b.bytes(), ErrorCode::unsupported, "version", "GGUF version 1");
}

TEST(GgufLies, AVersionToComeIsRefusedByName) {
  GgufBuilder b = small_model();
  b.version = raw(std::uint32_t{4});
  expect_refused(b.bytes(), ErrorCode::unsupported, "version", "GGUF version 4");
}

TEST(GgufLies, BigEndianIsRefusedByName) {
  GgufBuilder b = small_model();
  b.version = std::string("\0\0\0\3", 4);
  expect_refused(b.bytes(), ErrorCode::unsupported, "version", "big-endian");
}

TEST(GgufLies, CountsOf2To60AreRefusedBeforeMemoryIsTaken) {
  GgufBuilder b = small_model();
  b.kv_count = kHuge;
  expect_refused(b.bytes(), ErrorCode::malformed, "kv count", "1152921504606846976");
  b = small_model();
  b.tensor_count = kHuge;
  expect_refused(b.bytes(), ErrorCode::malformed, "tensor count", "1152921504606846976");
  b.tensor_count = kWrap;
  expect_refused(b.bytes(), ErrorCode::malformed, "tensor count", "more than");
}

TEST(GgufLies, CountsThatCannotFitInTheFileAreRefused) {
  GgufBuilder b = small_model();
  b.kv_count = 60000;
  expect_refused(b.bytes(), ErrorCode::malformed, "kv count", "cannot fit");
  b = small_model();
  b.tensor_count = 200000;
  expect_refused(b.bytes(), ErrorCode::malformed, "tensor count", "cannot fit");
}

TEST(GgufLies, CountsThatAreOffByOneAreRefused) {
  for (const int by : {-1, 1}) {
    GgufBuilder b = small_model();
    b.kv_count = b.kv_number + static_cast<std::uint64_t>(by);
    EXPECT_FALSE(parse(b.bytes())) << by;
    b = small_model();
    b.tensor_count = b.tensor_number + 1;
    EXPECT_FALSE(parse(b.bytes()));
  }
}

// ---- Keys and values -----------------------------------------------------------------------------------------------

TEST(GgufLies, AStringLongerThanTheFileIsRefusedWithItsPlace) {
  for (const std::uint64_t length : {std::uint64_t{1} << 20, kHuge, kWrap, kWrap - 7}) {
    GgufBuilder b = small_model();
    b.kv("general.description", 8, raw(length) + "short");
    expect_refused(b.bytes(), ErrorCode::malformed, "kv 7 (general.description), byte ", "more bytes");
  }
}

TEST(GgufLies, AKeyLongerThanTheFormatAllowsIsRefused) {
  GgufBuilder b = small_model();
  b.kvs += raw(kHuge);
  ++b.kv_number;
  expect_refused(b.bytes(), ErrorCode::malformed, "kv 7, byte ", "at most 65535");
}

TEST(GgufLies, AnEmptyKeyIsRefused) {
  expect_refused(small_model().u32("", 1).bytes(), ErrorCode::malformed, "kv 7", "empty key");
}

TEST(GgufLies, AKeyThatAppearsTwiceIsRefused) {
  expect_refused(small_model().u32("llama.context_length", 1).bytes(), ErrorCode::malformed, "(llama.context_length)",
                 "twice");
}

TEST(GgufLies, AnUnknownValueTypeIsRefusedBecauseItsLengthIsUnknown) {
  expect_refused(small_model().kv("x", 13, raw(std::uint64_t{0})).bytes(), ErrorCode::malformed, "kv 7 (x)",
                 "unknown type 13");
  expect_refused(small_model().kv("x", 0xffffffffU, "").bytes(), ErrorCode::malformed, "kv 7 (x)", "unknown type");
}

TEST(GgufLies, ArraysOfArraysAreRefusedPolitely) {
  expect_refused(small_model().kv("x", 9, raw(std::uint32_t{9}) + raw(std::uint64_t{0})).bytes(),
                 ErrorCode::unsupported, "kv 7 (x)", "array of arrays");
}

TEST(GgufLies, AnArrayOfAnUnknownTypeIsRefused) {
  expect_refused(small_model().kv("x", 9, raw(std::uint32_t{77}) + raw(std::uint64_t{1})).bytes(), ErrorCode::malformed,
                 "kv 7 (x)", "unknown type 77");
}

// 2^61 elements of 8 bytes are 2^64 bytes: a product that wraps to 0.
TEST(GgufLies, ArrayCountsWhoseBytesOverflowAreRefused) {
  for (const std::uint64_t count : {std::uint64_t{1} << 61, kHuge, kWrap, std::uint64_t{1} << 30}) {
    for (const std::uint32_t type : {0U, 10U, 8U}) {
      expect_refused(small_model().kv("x", 9, raw(type) + raw(count)).bytes(), ErrorCode::malformed, "kv 7 (x)",
                     "elements");
    }
  }
}

TEST(GgufLies, AStringInAnArrayThatReachesPastTheEndIsRefused) {
  expect_refused(
      small_model().kv("x", 9, raw(std::uint32_t{8}) + raw(std::uint64_t{2}) + raw_text("a") + raw(kWrap)).bytes(),
      ErrorCode::malformed, "kv 7 (x)", "more bytes");
}

TEST(GgufLies, AHeaderLargerThanWeAcceptIsRefused) {
  const test::TempFolder folder;
  const std::string path = folder.write("m.gguf", small_model().kv("x", 8, raw(std::uint64_t{1} << 30)).header());
  std::filesystem::resize_file(path, std::uintmax_t{1} << 31);  // zeros that take no room
  const Result<GgufFile> file = read_gguf_file(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "the header is larger than 128 MiB");
}

// ---- Alignment -----------------------------------------------------------------------------------------------------

TEST(GgufLies, AnAlignmentThatIsNoPowerOfTwoIsRefused) {
  for (const std::uint32_t alignment : {0U, 3U, 48U, 0x80000000U, 0xffffffffU}) {
    expect_refused(small_model().u32("general.alignment", alignment).bytes(), ErrorCode::malformed, "general.alignment",
                   "power of two");
  }
}

TEST(GgufLies, AnAlignmentOfAnotherTypeIsRefused) {
  expect_refused(small_model().kv("general.alignment", 10, raw(std::uint64_t{32})).bytes(), ErrorCode::malformed,
                 "general.alignment", "expected u32, found u64");
}

TEST(GgufLies, AnAlignmentThatPutsTheDataBeyondTheFileIsRefused) {
  expect_refused(small_model().u32("general.alignment", 1U << 26U).bytes(), ErrorCode::malformed, "padding",
                 "more bytes");
}

// ---- Tensors -------------------------------------------------------------------------------------------------------

TEST(GgufLies, ATensorThatAppearsTwiceIsRefused) {
  expect_refused(small_model().tensor("output_norm.weight", {9}, 0, 36).bytes(), ErrorCode::malformed,
                 "(output_norm.weight)", "twice");
}

TEST(GgufLies, MoreThanFourDimensionsAreRefused) {
  expect_refused(small_model().tensor("x", {1, 1, 1, 1, 1}, 0, 4).bytes(), ErrorCode::malformed, "tensor 3 (x)",
                 "5 dimensions");
  GgufBuilder b = small_model();
  b.infos += raw_text("y") + raw(0xffffffffU) + std::string(64, '\0');
  ++b.tensor_number;
  expect_refused(b.bytes(), ErrorCode::malformed, "tensor 3 (y)", "4294967295 dimensions");
}

TEST(GgufLies, ShapesThatOverflowAreRefused) {
  const std::uint64_t half = std::uint64_t{1} << 32U;
  for (const std::vector<std::uint64_t>& shape : {std::vector{half, half},
                                                  {kHuge, 2, 2, 2},
                                                  {kWrap},
                                                  {half, half, half, half},
                                                  {std::uint64_t{1} << 62U},
                                                  {0, kWrap}}) {
    expect_refused(small_model().tensor("x", shape, 0, 4).bytes(), ErrorCode::malformed, "tensor 3 (x)", "2^63");
  }
}

TEST(GgufLies, RowsThatAreNoWholeNumberOfBlocksAreRefused) {
  expect_refused(small_model().tensor("x", {33}, 8, 34).bytes(), ErrorCode::inconsistent, "tensor 3 (x)",
                 "blocks of 32");
}

TEST(GgufLies, AnOffsetThatIsNotAlignedIsRefused) {
  const GgufBuilder b = small_model();
  expect_refused(GgufBuilder(b).info("x", {1}, 0, b.data.size() + 29).bytes(), ErrorCode::inconsistent, "tensor 3 (x)",
                 "not aligned");
}

TEST(GgufLies, OffsetsThatOverlapAreRefused) {
  expect_refused(small_model().info("x", {1}, 0, 0).bytes(), ErrorCode::inconsistent, "tensor 3 (x)", "overlaps");
}

TEST(GgufLies, OffsetsThatLeaveAGapAreRefused) {
  GgufBuilder b = small_model();
  b.data.resize(4096);
  expect_refused(b.info("x", {1}, 0, 2048).bytes(), ErrorCode::inconsistent, "tensor 3 (x)", "gap");
}

TEST(GgufLies, OffsetsThatWrapAroundAreRefused) {
  expect_refused(small_model().info("x", {1}, 0, kWrap - 31).bytes(), ErrorCode::inconsistent, "tensor 3 (x)",
                 "expected");
  // Of an unknown type, whose neighbour says where it ends.
  expect_refused(small_model().info("x", {1}, 999, 352).info("y", {1}, 0, kWrap - 31).bytes(), ErrorCode::inconsistent,
                 "tensor 3 (x)", "past the end");
  expect_refused(small_model().info("x", {1}, 999, 352).info("y", {1}, 0, 0).bytes(), ErrorCode::inconsistent,
                 "tensor 3 (x)", "beyond the next");
}

TEST(GgufLies, ATensorPastTheEndOfTheFileIsRefused) {
  GgufBuilder b = small_model();
  const std::string bytes = b.bytes(false);
  expect_refused(bytes.substr(0, bytes.size() - 1), ErrorCode::inconsistent, "tensor 2 (output_norm.weight)",
                 "past the end");
  expect_refused(b.info("x", {std::uint64_t{1} << 40U}, 0, 352).bytes(), ErrorCode::inconsistent, "tensor 3 (x)",
                 "past the end");
}

// ---- Cut short -----------------------------------------------------------------------------------------------------

TEST(GgufLies, AFileCutAtAnyByteIsRefused) {
  for (const GgufBuilder& b : {small_model(), GgufBuilder().u32("only", 1).tensor("x", {1}, 77, 64)}) {
    const std::string bytes = b.bytes(false);
    const std::size_t end =
        b.tensor_number == 3 ? bytes.size() : b.header().size();  // of an unknown type any size will do
    for (std::size_t length = 0; length < end; ++length) EXPECT_FALSE(parse(bytes.substr(0, length))) << length;
    EXPECT_TRUE(parse(bytes));
  }
}

// The bytes that are there are fewer than the file is said to have: a file that shrinks while it is read.
TEST(GgufLies, BytesThatVanishWhileReadingAreRefused) {
  const std::string bytes = small_model().bytes();
  const std::size_t header = small_model().header().size();
  for (std::size_t length = 0; length < header; ++length) {
    EXPECT_FALSE(parse_gguf(std::as_bytes(std::span(bytes.data(), length)), bytes.size())) << length;
  }
  EXPECT_TRUE(parse_gguf(std::as_bytes(std::span(bytes.data(), header)), bytes.size()));
}

// Every byte of the header set to its extremes: refused or understood, never a crash, and what is understood is written
// back as it was.
TEST(GgufLies, AnyByteMayBeWrong) {
  const std::string bytes = small_model().bytes();
  for (std::size_t i = 0; i < small_model().header().size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      const Result<GgufFile> file = parse(changed);
      if (!file) continue;
      EXPECT_EQ(encode_gguf_header(*file), changed.substr(0, file->data_offset)) << i << " = " << value;
    }
  }
}

}  // namespace
}  // namespace mrrope

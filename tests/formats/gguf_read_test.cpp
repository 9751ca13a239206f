// SPDX-License-Identifier: MIT
//
// Files of every shape come back byte for byte; large ones cost what their header costs.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "mrrope/gguf.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using test::GgufBuilder;
using test::raw;
using test::raw_text;
using test::read_bytes;
using test::small_model;
using test::TempFolder;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// Of the process since reset_peak(), in bytes.
std::uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10U;
  }
  return 0;
}
void reset_peak() {
  ::malloc_trim(0);  // else what was freed before is taken again unseen
  std::ofstream("/proc/self/clear_refs") << "5";
}

void expect_round_trip(const std::string& bytes) {
  const TempFolder folder;
  const std::string path = folder.write("model.gguf", bytes);
  const Result<GgufModel> model = read_gguf(path);
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(encode_gguf_header(model->head()), bytes.substr(0, model->head().data_offset));
  const auto done = write_gguf(*model, {}, folder / "copy.gguf");
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_TRUE(read_bytes(folder / "copy.gguf") == bytes);
}

TEST(GgufRead, SaysWhatIsInTheFile) {
  const TempFolder folder;
  const Result<GgufModel> model = read_gguf(folder.write("m.gguf", small_model().bytes()));
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->architecture(), "llama");
  EXPECT_EQ(model->find("context_length")->number(), 8192);
  EXPECT_EQ(model->find("context"), nullptr);
  EXPECT_EQ(model->head().find("general.name")->text(), "small");
  EXPECT_EQ(model->head().find("tokenizer.ggml.tokens")->display(), "[3 strings]");
  EXPECT_EQ(model->head().entries.back().key, "unknown.vendor.key");
  const GgufTensor expected{"blk.0.attn_q.weight", {256}, 12, 128, 144};
  ASSERT_NE(model->find_tensor("blk.0.attn_q.weight"), nullptr);
  EXPECT_EQ(*model->find_tensor("blk.0.attn_q.weight"), expected);
  EXPECT_EQ(model->find_tensor("blk.1.attn_q.weight"), nullptr);
}

// ---- Byte for byte -------------------------------------------------------------------------------------------------

TEST(GgufRead, Version2And3RoundTrip) {
  GgufBuilder b = small_model();
  expect_round_trip(b.bytes());
  b.version = raw(std::uint32_t{2});
  expect_round_trip(b.bytes());
}

TEST(GgufRead, EveryAlignmentRoundTrips) {
  for (const std::uint32_t alignment : {1U, 8U, 64U, 4096U, 16384U}) {
    GgufBuilder b;
    b.alignment = alignment;
    b.u32("general.alignment", alignment).tensor("x", {3}, 0, 12).tensor("y", {32}, 2, 18);
    expect_round_trip(b.bytes());
    expect_round_trip(b.bytes(false));
  }
}

TEST(GgufRead, EveryValueTypeRoundTrips) {
  GgufBuilder b;
  for (std::uint32_t type = 0; type <= 12; ++type) {
    const std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // NOLINT(modernize-avoid-c-arrays)
    const std::string one = type == 8 ? raw_text("text") : std::string(sizes[type], '\x5a');
    if (type == 9) continue;
    b.kv("scalar." + std::to_string(type), type, one);
    b.kv("array." + std::to_string(type), 9, raw(type) + raw(std::uint64_t{3}) + one + one + one);
    b.kv("empty." + std::to_string(type), 9, raw(type) + raw(std::uint64_t{0}));
  }
  expect_round_trip(b.bytes());
}

TEST(GgufRead, UnknownTensorTypesRoundTrip) {
  const GgufBuilder b =
      small_model().tensor("new", {7}, 1234, 100).tensor("removed", {32}, 4, 20).tensor("f", {1}, 0, 4);
  expect_round_trip(b.bytes());
  expect_round_trip(small_model().tensor("last", {7}, 0xffffffffU, 33).bytes(false));
}

TEST(GgufRead, TensorsWithoutElementsOrDimensionsRoundTrip) {
  expect_round_trip(small_model().tensor("none", {0, 5}, 0, 0).tensor("scalar", {}, 0, 4).bytes());
}

TEST(GgufRead, BytesBetweenHeaderAndDataThatAreNotZeroRoundTrip) {
  GgufBuilder b = small_model();
  b.text("x", "1");  // 16 bytes of padding
  b.gap = std::string(64, '#');
  expect_round_trip(b.bytes());
}

TEST(GgufRead, BytesAfterTheLastTensorRoundTrip) {
  expect_round_trip(small_model().bytes() + "something else");
  expect_round_trip(small_model().bytes(false));
}

// The first shard of `llama-gguf-split --no-tensor-first-split`; ggml pads it, others do not.
TEST(GgufRead, HeadersWithoutTensorsRoundTrip) {
  const GgufBuilder b = GgufBuilder().text("general.name", "nothing else");
  expect_round_trip(b.bytes());
  expect_round_trip(b.magic + b.version + raw(std::uint64_t{0}) + raw(std::uint64_t{1}) + b.kvs);
  expect_round_trip(b.bytes() + "tail");
  expect_round_trip(GgufBuilder().bytes());
}

// ---- Large files ---------------------------------------------------------------------------------------------------

TEST(GgufRead, AModelOf400GigabytesIsReadInATenthOfASecond) {
  GgufBuilder b;
  b.text("general.architecture", "llama");
  std::string tokens = raw(std::uint32_t{8}) + raw(std::uint64_t{150000});
  for (int i = 0; i < 150000; ++i) tokens += raw_text("token" + std::to_string(i));
  b.kv("tokenizer.ggml.tokens", 9, tokens);
  constexpr std::uint64_t kEach = 400'000'000;  // 1000 tensors, a multiple of 32
  for (std::uint64_t i = 0; i < 1000; ++i) b.info("blk." + std::to_string(i) + ".weight", {kEach / 4}, 0, i * kEach);
  const TempFolder folder;
  const std::string path = folder.write("large.gguf", b.header());
  if (::truncate(path.c_str(), static_cast<off_t>(b.header().size() + 1000 * kEach)) != 0) {
    GTEST_SKIP() << "the file system of " << path << " has no sparse files of 400 GB";
  }
  reset_peak();
  const std::uint64_t before = peak_memory();
  const auto start = std::chrono::steady_clock::now();
  const Result<GgufModel> model = read_gguf(path);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::uint64_t memory = peak_memory() - before;
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->head().tensors.size(), 1000U);
  RecordProperty("seconds", std::to_string(seconds));
  RecordProperty("memory", std::to_string(memory));
  if (kSanitized) return;
  EXPECT_LT(seconds, 0.1);
  EXPECT_LT(memory, 50U << 20U);
}

// The largest headers we accept: sparse files, so that the claims are true and cost nothing to make.
TEST(GgufRead, NoHeaderTakesMoreThan256Megabytes) {
  if (kSanitized) GTEST_SKIP() << "memory is not comparable under the sanitizer";
  constexpr std::uint64_t kFile = kMaxGgufHeader + (1U << 20U);
  const TempFolder folder;
  GgufBuilder bytes, strings, tensors, entries;
  bytes.kv("x", 9, raw(std::uint32_t{0}) + raw(kMaxGgufHeader - 1000));
  strings.kv("x", 9, raw(std::uint32_t{8}) + raw((kMaxGgufHeader - 1000) / 8));
  tensors.kv("x", 9, raw(std::uint32_t{0}) + raw(std::uint64_t{80'000'000}));
  tensors.kvs.resize(tensors.kvs.size() + 80'000'000);
  for (int i = 0; i < (1 << 18); ++i)
    tensors.info("a.name.that.is.longer.than.fifteen.bytes." + std::to_string(i), {0, 0, 0, 0}, 0, 0);
  for (int i = 0; i < (1 << 16); ++i)
    entries.kv("a.name.that.is.longer.than.fifteen.bytes." + std::to_string(i), 8, raw_text(std::string(1900, 'x')));
  for (const GgufBuilder* b : {&bytes, &strings, &tensors, &entries}) {
    const std::string path = folder.write("m.gguf", b->header());
    if (::truncate(path.c_str(), kFile) != 0) GTEST_SKIP() << "no sparse files in " << path;
    reset_peak();
    const std::uint64_t before = peak_memory();
    const Result<GgufFile> file = read_gguf_file(path);
    EXPECT_TRUE(file) << to_string(file.error());
    EXPECT_LT(peak_memory() - before, 256'000'000U);
  }
}

// ---- What is no file -----------------------------------------------------------------------------------------------

TEST(GgufRead, WhatIsNoFileIsAnError) {
  const TempFolder folder;
  EXPECT_EQ(read_gguf(folder / "missing.gguf").error().code, ErrorCode::io);
  EXPECT_NE(read_gguf(folder / "missing.gguf").error().message.find("No such file"), std::string::npos);
  EXPECT_EQ(read_gguf(folder / "").error().code, ErrorCode::io);
  EXPECT_EQ(read_gguf("/dev/zero").error().message, "not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_gguf(folder / "pipe").error().message, "not a regular file");  // and does not wait for a writer
}

TEST(GgufRead, ErrorsNameTheFile) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", small_model().u32("", 1).bytes());
  EXPECT_TRUE(read_gguf(path).error().where.starts_with(path + ": kv 7, byte ")) << read_gguf(path).error().where;
}

TEST(GgufRead, SmallF32TensorsCanBeRead) {
  const TempFolder folder;
  GgufBuilder b = small_model().tensor("rope_freqs.weight", {2}, 0, 8);
  b.data.replace(b.data.size() - 8, 8, raw(1.5F) + raw(8.0F));
  b.tensor("large", {(1U << 18U) + 1}, 0, (1U << 20U) + 4);
  const Result<GgufModel> model = read_gguf(folder.write("m.gguf", b.bytes()));
  ASSERT_TRUE(model);
  EXPECT_EQ(*read_f32_tensor(*model, "rope_freqs.weight"), (std::vector<float>{1.5F, 8.0F}));
  EXPECT_EQ(read_f32_tensor(*model, "token_embd.weight").error().code, ErrorCode::unsupported);
  EXPECT_EQ(read_f32_tensor(*model, "large").error().code, ErrorCode::unsupported);
  EXPECT_EQ(read_f32_tensor(*model, "missing").error().code, ErrorCode::invalid_argument);
}

TEST(GgufRead, ValuesOfAFileThatChangedSinceItsHeaderWasReadAreNotBelieved) {
  const TempFolder folder;
  GgufBuilder b = small_model().tensor("rope_freqs.weight", {2}, 0, 8);
  const std::string bytes = b.bytes();
  const Result<GgufModel> model = read_gguf(folder.write("m.gguf", bytes));
  ASSERT_TRUE(model);
  const char* const changed = "the file has changed since it was read";
  folder.write("m.gguf", bytes.substr(0, bytes.size() - 8));  // the values are gone
  EXPECT_EQ(read_f32_tensor(*model, "rope_freqs.weight").error().message, changed);
  folder.write("m.gguf", small_model().u32("another", 1).tensor("rope_freqs.weight", {2}, 0, 8).bytes());  // elsewhere
  EXPECT_EQ(read_f32_tensor(*model, "rope_freqs.weight").error().message, changed);
}

}  // namespace
}  // namespace mrrope

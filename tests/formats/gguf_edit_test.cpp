// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

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

GgufFile parse(const std::string& bytes) {
  Result<GgufFile> file = parse_gguf(std::as_bytes(std::span(bytes)), bytes.size());
  EXPECT_TRUE(file) << to_string(file.error());
  return std::move(*file);
}

// The model after the edits, through files.
GgufModel rewritten(const TempFolder& folder, const std::string& bytes, const GgufEdits& edits) {
  const Result<GgufModel> model = read_gguf(folder.write("in.gguf", bytes));
  EXPECT_TRUE(model) << to_string(model.error());
  const auto done = write_gguf(*model, edits, folder / "out.gguf", {.overwrite = true});
  EXPECT_TRUE(done) << to_string(done.error());
  Result<GgufModel> out = read_gguf(folder / "out.gguf");
  EXPECT_TRUE(out) << to_string(out.error());
  // What edited() says is what is written.
  GgufFile expected = *edited(model->head(), edits);
  expected.path = out->head().path;
  EXPECT_EQ(out->head(), expected);
  return std::move(*out);
}

std::vector<std::string> keys(const GgufFile& file) {
  std::vector<std::string> names;
  for (const GgufEntry& entry : file.entries) names.push_back(entry.key);
  return names;
}

// Data bytes of one tensor.
std::string data_of(const GgufModel& model, std::string_view name) {
  const GgufTensor* tensor = model.find_tensor(name);
  return read_bytes(model.head().path).substr(model.head().data_offset + tensor->offset, tensor->bytes);
}

ErrorCode refusal(const std::string& bytes, const GgufEdits& edits) {
  const Result<GgufFile> file = edited(parse(bytes), edits);
  EXPECT_FALSE(file);
  return file ? ErrorCode::io : file.error().code;
}

// ---- Keys ----------------------------------------------------------------------------------------------------------

TEST(GgufEdits, AnExistingKeyKeepsItsPlaceAndItsNeighbours) {
  const TempFolder folder;
  const GgufFile before = parse(small_model().bytes());
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(32768));                // same type
  edits.set("llama.rope.freq_base", GgufValue::text("a different type"));  // and size
  const GgufModel model = rewritten(folder, small_model().bytes(), edits);
  EXPECT_EQ(keys(model.head()), keys(before));
  EXPECT_EQ(model.find("context_length")->number(), 32768);
  EXPECT_EQ(model.find("rope.freq_base")->text(), "a different type");
  EXPECT_EQ(model.head().entries.back(), before.entries.back());
  for (const GgufTensor& tensor : before.tensors) {
    EXPECT_EQ(data_of(model, tensor.name), small_model().data.substr(tensor.offset, tensor.bytes));
  }
}

TEST(GgufEdits, NewKeysFollowAtTheEndInTheirOrder) {
  const TempFolder folder;
  GgufEdits edits;
  edits.set("z", GgufValue::boolean(true));
  edits.set("a", GgufValue::f32(1.25F));
  const GgufModel model = rewritten(folder, small_model().bytes(), edits);
  ASSERT_EQ(model.head().entries.size(), 9U);
  EXPECT_EQ(model.head().entries[7], (GgufEntry{"z", GgufValue::boolean(true)}));
  EXPECT_EQ(model.head().entries[8], (GgufEntry{"a", GgufValue::f32(1.25F)}));
}

TEST(GgufEdits, RemovedKeysAreGoneAndMissingOnesAreNoError) {
  const TempFolder folder;
  GgufEdits edits;
  edits.remove("llama.block_count");
  edits.remove("no.such.key");
  const GgufModel model = rewritten(folder, small_model().bytes(), edits);
  EXPECT_EQ(model.find("block_count"), nullptr);
  EXPECT_EQ(model.head().entries.size(), 6U);
}

TEST(GgufEdits, TheLastChangeOfAKeyCounts) {
  GgufEdits edits;
  edits.set("llama.context_length", GgufValue::u32(1));
  edits.remove("llama.context_length");
  edits.set("llama.context_length", GgufValue::u32(2));
  EXPECT_EQ(edited(parse(small_model().bytes()), edits)->find("llama.context_length")->number(), 2);
}

TEST(GgufEdits, RelabellingRenamesTheKeysOfTheArchitectureInPlace) {
  const TempFolder folder;
  GgufEdits edits;
  edits.architecture = "exaone";
  edits.set("exaone.context_length", GgufValue::u32(7));  // meant after relabelling
  const GgufModel model = rewritten(folder, small_model().text("llamas.count", "not ours").bytes(), edits);
  EXPECT_EQ(model.architecture(), "exaone");
  EXPECT_EQ(keys(model.head()),
            (std::vector<std::string>{"general.architecture", "general.name", "exaone.context_length",
                                      "exaone.rope.freq_base", "exaone.block_count", "tokenizer.ggml.tokens",
                                      "unknown.vendor.key", "llamas.count"}));
  EXPECT_EQ(model.find("context_length")->number(), 7);
}

TEST(GgufEdits, RelabellingOntoKeysThatExistIsRefused) {
  GgufEdits edits;
  edits.architecture = "exaone";
  EXPECT_EQ(refusal(small_model().u32("exaone.block_count", 1).bytes(), edits), ErrorCode::inconsistent);
  edits.architecture = "";
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::invalid_argument);
  edits.architecture = "general";  // would make an alignment out of llama.alignment
  EXPECT_EQ(refusal(small_model().u32("llama.alignment", 64).bytes(), edits), ErrorCode::inconsistent);
  EXPECT_EQ(refusal(GgufBuilder().u32("general.architecture", 1).bytes(), edits), ErrorCode::inconsistent);
}

TEST(GgufEdits, WhatWouldBreakTheFileIsRefused) {
  const auto set = [](std::string key, GgufValue value) {
    GgufEdits edits;
    edits.set(std::move(key), std::move(value));
    return edits;
  };
  const std::string bytes = small_model().bytes();
  EXPECT_EQ(refusal(bytes, set("general.alignment", GgufValue::u32(64))), ErrorCode::unsupported);
  EXPECT_EQ(refusal(bytes, set("", GgufValue::u32(64))), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(bytes, set("mrrope.padding", GgufValue::text(""))), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(bytes, set("x", GgufValue(GgufType::u32, "abc"))), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(bytes, set("x", GgufValue(GgufType::u32, "abcde"))), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(bytes, set("x", GgufValue(GgufType::array, raw(std::uint32_t{4}) + raw(std::uint64_t{1} << 62U)))),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(bytes, set("x", GgufValue(static_cast<GgufType>(13), ""))), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(bytes, set("x", GgufValue::text(std::string(kMaxGgufHeader, 'x')))), ErrorCode::unsupported);
}

// ---- Tensors -------------------------------------------------------------------------------------------------------

TEST(GgufEdits, ANewTensorIsTheLastAndWhereLlamaCppExpectsIt) {
  const TempFolder folder;
  GgufEdits edits;
  edits.add_tensor("rope_freqs.weight", {1, 2, 4});
  for (const bool pad_last : {true, false}) {
    const GgufModel model = rewritten(folder, small_model().bytes(pad_last), edits);
    const GgufTensor expected{"rope_freqs.weight", {3}, 0, 352, 12};  // after 36 bytes at 288, padded
    EXPECT_EQ(model.head().tensors.back(), expected);
    EXPECT_EQ(*read_f32_tensor(model, "rope_freqs.weight"), (std::vector<float>{1, 2, 4}));
    EXPECT_EQ(data_of(model, "output_norm.weight"), small_model().data.substr(288, 36));
    EXPECT_EQ(model.head().file_size % 32, 0U);
  }
}

TEST(GgufEdits, ATensorOfTheSameSizeIsReplacedWhereItIs) {
  const TempFolder folder;
  GgufEdits edits;
  edits.add_tensor("output_norm.weight", std::vector<float>(9, 0.5F));
  const GgufModel model = rewritten(folder, small_model().tensor("x", {1}, 0, 4).bytes(), edits);
  EXPECT_EQ(*read_f32_tensor(model, "output_norm.weight"), std::vector<float>(9, 0.5F));
  EXPECT_EQ(model.head().tensors, parse(small_model().tensor("x", {1}, 0, 4).bytes()).tensors);
  EXPECT_EQ(data_of(model, "x"), small_model().tensor("x", {1}, 0, 4).data.substr(352, 4));
}

TEST(GgufEdits, ATensorOfAnotherSizeOrTypeIsNotReplaced) {
  GgufEdits edits;
  edits.add_tensor("output_norm.weight", std::vector<float>(8));
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::inconsistent);
  edits.tensors = {{"blk.0.attn_q.weight", std::vector<float>(36)}};  // 144 bytes too, but q4_K
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::inconsistent);
}

TEST(GgufEdits, TensorsThatCannotBeLoadedAreRefused) {
  GgufEdits edits;
  edits.tensors = {{"", {1}}};
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::invalid_argument);
  edits.tensors = {{std::string(64, 'x'), {1}}};
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::invalid_argument);
  edits.tensors = {{"x", {}}};
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::invalid_argument);
  edits.tensors = {{"x", {1}}, {"x", {1}}};
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::invalid_argument);
}

TEST(GgufEdits, AnAppendedTensorCanBeRemovedAgain) {
  const TempFolder folder;
  GgufEdits add, remove;
  add.add_tensor("rope_freqs.weight", std::vector<float>(64, 2));
  add.add_tensor("second", {1});
  remove.removed_tensors = {"second", "rope_freqs.weight"};
  rewritten(folder, small_model().bytes(), add);
  rewritten(folder, read_bytes(folder / "out.gguf"), remove);
  EXPECT_EQ(read_bytes(folder / "out.gguf"), small_model().bytes());
}

TEST(GgufEdits, ATensorCanBeRemovedAndAddedWithAnotherSizeAtOnce) {
  const TempFolder folder;
  GgufEdits edits;
  edits.removed_tensors = {"output_norm.weight"};
  edits.add_tensor("output_norm.weight", {1, 2});
  const GgufModel model = rewritten(folder, small_model().bytes(), edits);
  EXPECT_EQ(*read_f32_tensor(model, "output_norm.weight"), (std::vector<float>{1, 2}));
}

TEST(GgufEdits, OnlyTheLastTensorsCanBeRemoved) {
  GgufEdits edits;
  edits.removed_tensors = {"blk.0.attn_q.weight"};
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::unsupported);
  edits.removed_tensors = {"missing"};
  EXPECT_EQ(refusal(small_model().bytes(), edits), ErrorCode::invalid_argument);
}

TEST(GgufEdits, BytesAfterTheLastTensorAreNotOverwritten) {
  GgufEdits edits;
  edits.add_tensor("x", {1});
  EXPECT_EQ(refusal(small_model().bytes() + std::string(1000, '!'), edits), ErrorCode::unsupported);
}

TEST(GgufEdits, AHeaderWithoutTensorsTakesOne) {
  const TempFolder folder;
  GgufEdits edits;
  edits.add_tensor("rope_freqs.weight", {1, 2});
  const GgufModel model = rewritten(folder, GgufBuilder().text("general.architecture", "llama").bytes(), edits);
  EXPECT_EQ(model.head().tensors.size(), 1U);
  EXPECT_EQ(*read_f32_tensor(model, "rope_freqs.weight"), (std::vector<float>{1, 2}));
}

// llama.cpp compares the number with what all shards hold.
TEST(GgufEdits, TheNumberOfTensorsInAllShardsFollows) {
  GgufEdits edits;
  edits.add_tensor("x", {1});
  const auto bytes = small_model().kv("split.tensors.count", 5, raw(std::int32_t{3})).bytes();
  EXPECT_EQ(*edited(parse(bytes), edits)->find("split.tensors.count"), GgufValue(GgufType::i32, raw(std::int32_t{4})));
  edits.tensors.clear();
  edits.removed_tensors = {"output_norm.weight"};
  EXPECT_EQ(edited(parse(bytes), edits)->find("split.tensors.count")->number(), 2);
}

TEST(GgufEdits, NoEditsChangeNothing) {
  const GgufFile file = parse(small_model().bytes());
  EXPECT_EQ(*edited(file, {}), file);
}

}  // namespace
}  // namespace mrrope

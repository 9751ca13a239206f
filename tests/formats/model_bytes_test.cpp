// SPDX-License-Identifier: MIT
//
// Models in memory say what the same bytes say as a file.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mrrope/model_file.h"
#include "tests/formats/gguf_builder.h"

namespace mrrope {
namespace {

using namespace test;

// A Llama 3.1 in small: 2 pairs, whose factors are a tensor before others.
GgufBuilder with_factors() {
  GgufBuilder b;
  b.text("general.architecture", "llama").u32("llama.context_length", 8192).u32("llama.block_count", 1);
  b.u32("llama.embedding_length", 8).u32("llama.attention.head_count", 2);
  b.tensor("token_embd.weight", {32, 3}, 8, 3 * 34).tensor("rope_freqs.weight", {2}, 0, 8);
  b.data.replace(b.data.size() - 8, 8, raw(1.0F) + raw(8.0F));
  b.tensor("output_norm.weight", {4096}, 0, 16384);
  return b;
}

// In a block of exactly this size, so that AddressSanitizer sees a read beyond.
Result<RopeSpec> spec_of(std::string_view bytes) {
  const std::vector<std::byte> block(reinterpret_cast<const std::byte*>(bytes.data()),
                                     reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size());
  return rope_spec(std::span(block));
}

TEST(ModelBytes, AGgufSaysWhatItsFileSays) {
  const TempFolder folder;
  const std::string bytes = with_factors().bytes();
  const Result<RopeSpec> spec = spec_of(bytes);
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(*spec, *rope_spec(*read_model(folder.write("m.gguf", bytes))));
  EXPECT_EQ(trained_table(*spec, 0).pair_factors, (std::vector<double>{1, 8}));
}

TEST(ModelBytes, AGgufIsCompleteFromItsFactorsOn) {
  const GgufBuilder b = with_factors();
  const std::string bytes = b.bytes();
  const std::size_t enough = b.header().size() + 128 + 8;  // 102 bytes of the first tensor, aligned to 32; 2 factors
  for (std::size_t length = 0; length < enough; ++length) {
    const Result<RopeSpec> spec = spec_of(bytes.substr(0, length));
    ASSERT_FALSE(spec) << length;
    EXPECT_EQ(spec.error().code, ErrorCode::malformed) << length;
    if (length >= b.header().size()) {
      EXPECT_EQ(spec.error().where, "rope_freqs.weight");
    }
  }
  EXPECT_EQ(*spec_of(bytes.substr(0, enough)), *spec_of(bytes));
}

// A file of which only the front is there cannot promise more than the front has.
// Found by fuzzing: memcpy was called for a list without values, whose address is null.
TEST(ModelBytes, AListOfNoFactorsIsRefused) {
  GgufBuilder b;
  b.text("general.architecture", "llama").u32("llama.context_length", 8192).u32("llama.block_count", 1);
  b.u32("llama.embedding_length", 8).u32("llama.attention.head_count", 2);
  b.tensor("rope_freqs.weight", {0}, 0, 0).tensor("output_norm.weight", {16}, 0, 64);
  const Result<RopeSpec> spec = spec_of(b.bytes());
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().where, "rope_freqs.weight");
}

TEST(ModelBytes, CountsAreComparedWithTheBytesThatAreThere) {
  GgufBuilder b = with_factors();
  b.kv_count = 1U << 16U;
  const Result<RopeSpec> spec = spec_of(b.header());
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message.find("cannot fit"), std::string::npos) << to_string(spec.error());
}

TEST(ModelBytes, TheFirstOfSeveralShardsIsRefused) {
  const auto shards = [](std::uint32_t count) { return spec_of(with_factors().u32("split.count", count).bytes()); };
  EXPECT_TRUE(shards(1));
  EXPECT_EQ(shards(2).error().code, ErrorCode::unsupported);
  EXPECT_EQ(spec_of(with_factors().text("split.count", "x").bytes()).error().code, ErrorCode::unsupported);
}

TEST(ModelBytes, AConfigJsonSaysWhatItsFileSays) {
  const TempFolder folder;
  const std::string text = R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
                               "max_position_embeddings": 4096, "rope_theta": 10000.0, "num_hidden_layers": 32})";
  const Result<RopeSpec> spec = spec_of(text);
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(*spec, *rope_spec(*read_model(folder.write("config.json", text))));
}

TEST(ModelBytes, WhatIsNeitherIsRefused) {
  for (const std::string& bytes : {std::string(), std::string("GGU"), std::string(64, '\0'),
                                   std::string("\x7f"
                                               "ELF")}) {
    EXPECT_EQ(spec_of(bytes).error().code, ErrorCode::malformed);
  }
  EXPECT_EQ(spec_of(std::string(kMaxHfConfigBytes + 1, ' ')).error().message,
            "no GGUF, and too large to be a config.json");
}

}  // namespace
}  // namespace mrrope

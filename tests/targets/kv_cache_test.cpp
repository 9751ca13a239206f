// SPDX-License-Identifier: MIT
//
// Every architecture is compared with llama.cpp's own log in tests/llama/test_cache_memory.py; here are released
// models, and what no engine would load.
#include "mrrope/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "tests/support/gguf_models.h"

namespace mrrope {
namespace {

using test::gguf_model;
using Keys = std::map<std::string, GgufValue>;

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

ModelFile gguf(const std::string& architecture, const Keys& keys) {
  return {"model.gguf", gguf_model(architecture, keys)};
}
ModelFile hf(const std::string& text) { return {"config.json", *HfConfig::parse(text)}; }
ModelFile hf_file(const std::string& name) {
  std::ifstream file(std::string(MRROPE_CONFIGS) + "/" + name + ".json");
  return hf({std::istreambuf_iterator<char>(file), {}});
}
GgufValue u32(std::uint32_t value) { return GgufValue::u32(value); }

const Keys kGemma3_270m = {{"block_count", u32(18)},
                           {"context_length", u32(32768)},
                           {"embedding_length", u32(640)},
                           {"attention.head_count", u32(4)},
                           {"attention.head_count_kv", u32(1)},
                           {"attention.key_length", u32(256)},
                           {"attention.value_length", u32(256)},
                           {"attention.sliding_window", u32(512)},
                           {"rope.dimension_count", u32(256)}};

// "llama_kv_cache: size = 96.00 MiB ( 32768 cells, 3 layers" and "15.00 MiB ( 1024 cells, 15 layers"
TEST(KvCache, Gemma3Of270MTakes111MiBAt32k) {
  const KvCache cache = kv_cache(gguf("gemma3", kGemma3_270m), 32768);
  EXPECT_EQ(cache.bytes, 111 * kMiB);
  EXPECT_EQ(cache.bytes_per_token, 3 * kKiB);
  EXPECT_EQ(cache.full_layers, 3);
  EXPECT_EQ(cache.sliding_layers, 15);
  EXPECT_EQ(cache.sliding_cells, 1024);
  EXPECT_EQ(cache.recurrent_bytes, 0);
}

// llama-server without -np: four windows of 512 and a batch.
TEST(KvCache, EverySequenceHasItsWindows) {
  const KvCache cache = kv_cache(gguf("gemma3", kGemma3_270m), 32768, 2, 4);
  EXPECT_EQ(cache.sliding_cells, 2560);
  EXPECT_EQ(cache.bytes, 96 * kMiB + 15 * 2560 * kKiB);
}

TEST(KvCache, AContextShorterThanTheWindowIsKeptWhole) {
  const KvCache cache = kv_cache(gguf("gemma3", kGemma3_270m), 500);
  EXPECT_EQ(cache.sliding_cells, 512);
  EXPECT_EQ(cache.bytes, 18 * 512 * kKiB);
}

TEST(KvCache, ElementsMayBeSmaller) {
  EXPECT_EQ(kv_cache(gguf("gemma3", kGemma3_270m), 32768, 34.0 / 32).bytes, 111 * kMiB * 34 / 64);
}

TEST(KvCache, LatentsAreKeptOnceAndHeadsTwice) {
  Keys keys = {
      {"attention.head_count_kv", u32(1)}, {"attention.key_length", u32(576)}, {"attention.value_length", u32(512)}};
  EXPECT_EQ(kv_cache(gguf("deepseek2", keys), 4096).bytes_per_token, 30 * (576 + 512) * 2);
  keys["attention.key_length_mla"] = u32(192);
  keys["attention.value_length_mla"] = u32(128);
  EXPECT_EQ(kv_cache(gguf("deepseek2", keys), 4096).bytes_per_token, 30 * 576 * 2);
}

// Qwen 3 Next 80B: every fourth of 48 layers keeps keys; "RS buffer size = 75.38 MiB".
TEST(KvCache, HybridModelsKeepKeysInSomeLayersAndAStateInTheOthers) {
  const KvCache cache = kv_cache(gguf("qwen3next", {{"block_count", u32(48)},
                                                    {"embedding_length", u32(2048)},
                                                    {"attention.head_count", u32(16)},
                                                    {"attention.head_count_kv", u32(2)},
                                                    {"attention.key_length", u32(256)},
                                                    {"attention.value_length", u32(256)},
                                                    {"ssm.conv_kernel", u32(4)},
                                                    {"ssm.inner_size", u32(4096)},
                                                    {"ssm.state_size", u32(128)},
                                                    {"ssm.time_step_rank", u32(32)},
                                                    {"ssm.group_count", u32(16)}}),
                                 32768);
  EXPECT_EQ(cache.bytes, 768 * kMiB);
  EXPECT_EQ(cache.full_layers, 12);
  EXPECT_EQ(cache.recurrent_layers, 36);
  EXPECT_NEAR(cache.recurrent_bytes / kMiB, 75.38, 0.005);
  const KvCache config = kv_cache(hf(R"({"model_type": "qwen3_next", "rope_theta": 1e7})"), 32768);
  EXPECT_EQ(config.bytes, cache.bytes);
  EXPECT_EQ(config.recurrent_bytes, cache.recurrent_bytes);
}

TEST(KvCache, RecurrentModelsKeepNoKeys) {
  const KvCache cache = kv_cache(gguf("mamba2", {{"attention.head_count", u32(0)},
                                                 {"ssm.conv_kernel", u32(4)},
                                                 {"ssm.inner_size", u32(1024)},
                                                 {"ssm.state_size", u32(128)},
                                                 {"ssm.group_count", u32(1)}}),
                                 32768);
  EXPECT_EQ(cache.bytes, 0);
  EXPECT_EQ(cache.recurrent_bytes, 30 * 4.0 * (3 * (1024 + 256) + 128 * 1024));
}

TEST(KvCache, ModelsThatReadAWholeTextAtOnceKeepNothing) { EXPECT_EQ(kv_cache(gguf("llada", {}), 8192).bytes, 0); }

// ---- config.json ---------------------------------------------------------------------------------------------------

TEST(KvCache, AConfigTakesWhatItsGgufTakes) {
  const ModelFile gemma = hf(R"({"model_type": "gemma3_text", "num_hidden_layers": 18, "num_attention_heads": 4,
      "num_key_value_heads": 1, "head_dim": 256, "hidden_size": 640, "sliding_window": 512,
      "max_position_embeddings": 32768})");
  EXPECT_EQ(kv_cache(gemma, 32768).bytes, 111 * kMiB);
  EXPECT_EQ(kv_cache(gemma, 32768).sliding_layers, 15);
  // gpt-oss: 12 layers of 2 KiB full, 12 with a window of 128
  EXPECT_EQ(kv_cache(hf_file("gpt-oss-20b"), 131072).bytes, 12 * 2 * kKiB * (131072 + 768));
  EXPECT_EQ(kv_cache(hf_file("deepseek-v3"), 4096).bytes_per_token, 61 * (512 + 64) * 2);
  EXPECT_EQ(kv_cache(hf_file("llama-3.1-8b"), 4096).bytes_per_token, 2 * 32 * 8 * 128 * 2);
}

// Gemma 4 E2B: 15 of 35 layers have keys of their own, 3 full ones with heads of 512 and 12 sliding ones.
TEST(KvCache, LayersThatUseKeysOfOthersKeepNone) {
  const KvCache cache = kv_cache(hf_file("gemma-4-e2b"), 131072);
  EXPECT_EQ(cache.full_layers, 3);
  EXPECT_EQ(cache.sliding_layers, 12);
  EXPECT_EQ(cache.bytes, 3 * 2 * kKiB * 131072 + 12 * kKiB * 1024);
  Keys keys = {{"block_count", u32(35)},
               {"attention.head_count", u32(8)},
               {"attention.head_count_kv", u32(1)},
               {"attention.key_length", u32(512)},
               {"attention.value_length", u32(512)},
               {"attention.key_length_swa", u32(256)},
               {"attention.value_length_swa", u32(256)},
               {"attention.shared_kv_layers", u32(20)},
               {"attention.sliding_window", u32(512)}};
  std::vector<std::int32_t> slides;
  for (int i = 0; i < 35; ++i) slides.push_back(i % 5 != 4);
  keys["attention.sliding_window_pattern"] = GgufValue::i32_array(slides);
  EXPECT_EQ(kv_cache(gguf("gemma4", keys), 131072).bytes, cache.bytes);
}

// Falcon H1 0.5B: both in every layer. LFM2 1.2B: 10 of 16 layers convolve.
TEST(KvCache, StatesOfConfigs) {
  const KvCache falcon = kv_cache(hf(R"({"model_type": "falcon_h1", "num_hidden_layers": 36, "hidden_size": 1024,
      "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "mamba_d_ssm": 1536, "mamba_d_state": 128,
      "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_n_heads": 24})"),
                                  4096);
  EXPECT_EQ(falcon.full_layers, 36);
  EXPECT_EQ(falcon.recurrent_bytes, 36 * 4.0 * (3 * (1536 + 256) + 128 * 1536));
  const KvCache lfm = kv_cache(hf(R"({"model_type": "lfm2", "num_hidden_layers": 16, "hidden_size": 2048,
      "num_attention_heads": 32, "num_key_value_heads": 8, "conv_L_cache": 3, "full_attn_idxs": [2, 5, 8, 10, 12, 14]})"),
                               4096);
  EXPECT_EQ(lfm.full_layers, 6);
  EXPECT_EQ(lfm.recurrent_bytes, 10 * 4 * 2 * 2048);
}

// ---- Hostile -------------------------------------------------------------------------------------------------------

TEST(KvCache, NumbersThatNoModelHasAreNoCache) {
  EXPECT_EQ(kv_cache(gguf("llama", {{"block_count", u32(0xFFFFFFFF)}}), 8192).bytes, 0);
  EXPECT_EQ(kv_cache(gguf("llama", {{"block_count", GgufValue::f32(NAN)}}), 8192).bytes, 0);
  EXPECT_EQ(kv_cache(gguf("gemma3", {{"attention.sliding_window", GgufValue::text("wide")}}), 8192).bytes, 0);
  const std::vector<std::int32_t> negative(30, -3);
  EXPECT_EQ(kv_cache(gguf("llama", {{"attention.head_count_kv", GgufValue::i32_array(negative)}}), 8192).bytes, 0);
  const KvCache zero = kv_cache(gguf("qwen3next", {{"full_attention_interval", u32(0)}}), 8192);
  EXPECT_EQ(zero.recurrent_layers, 30);
  for (const char* architecture : {"gemma2", "gemma4", "llama4", "deepseek4", "glm-dsa", "minimax-m3", "step35"}) {
    const Keys huge = {{"attention.key_length", u32(0xFFFFFFFF)},
                       {"attention.sliding_window", u32(0xFFFFFFFF)},
                       {"attention.sliding_window_pattern", u32(0xFFFFFFFF)},
                       {"attention.shared_kv_layers", u32(0xFFFFFFFF)},
                       {"nextn_predict_layers", u32(0xFFFFFFFF)}};
    EXPECT_TRUE(std::isfinite(kv_cache(gguf(architecture, huge), std::int64_t{1} << 40).bytes)) << architecture;
  }
  EXPECT_EQ(kv_cache(hf(R"({"model_type": "bert"})"), 8192).bytes, 0);
  EXPECT_EQ(kv_cache(hf(R"({"model_type": "gemma3n_text", "num_kv_shared_layers": -1})"), 8192).bytes, 0);
}

}  // namespace
}  // namespace mrrope

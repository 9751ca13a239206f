// SPDX-License-Identifier: MIT
//
// Read off the configuration classes of transformers 5.22.2; tests/engines/test_hf_configs.py compares every row with
// the table that version builds from {"model_type": …} alone.
#include "formats/hf_classes.h"

#include <algorithm>
#include <array>
#include <string>

namespace mrrope::formats {

namespace {

constexpr std::string_view kApertusRope =
    R"({"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0, "original_max_position_embeddings": 8192,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0})";
constexpr std::string_view kGemma4Rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0}})";
constexpr std::string_view kGptOssRope =
    R"({"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "truncate": false})";
constexpr std::string_view kMinistral3Rope =
    R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 16384,
        "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})";

// Sorted by name.
constexpr std::array<HfClass, 94> kClasses = {{
    // model_type, layers, hidden, heads, kv_heads, head_dim, context, base, partial, window, full_every, traits
    // clang-format off
    {"afmoe", 32, 2048, 16, 16, 128, 16384, 1e4, 1, 1024, 4, kFullWithoutRope},
    {"apertus", 32, 4096, 32, 32, 0, 65536, 1.2e7, 1, 0, 0, kPlain, kApertusRope},
    {"arcee", 32, 2560, 32, 32, 0, 4096, 1e4, 1, 0, 0, kPlain},
    {"axk1", 61, 7168, 64, 64, 64, 32768, 1e4, 1, 0, 0, kMla},
    {"bamba", 32, 4096, 32, 8, 0, 262144, 1e4, 0.5, 0, 0, kPartial},
    {"bitnet", 30, 2560, 20, 5, 0, 2048, 5e5, 1, 0, 0, kPlain},
    {"codegen", 28, 4096, 16, 16, 0, 2048, 1e4, 0.25, 0, 0, kPartial | kRotaryDim},
    {"cohere", 40, 8192, 64, 64, 0, 8192, 5e5, 1, 0, 0, kPlain},
    {"cohere2", 40, 8192, 64, 64, 0, 8192, 1e4, 1, 4096, 4, kFullWithoutRope | kPattern},
    {"cohere2_moe", 40, 8192, 64, 64, 128, 8192, 1e4, 1, 4096, 4, kPattern},
    {"deepseek_v2", 32, 4096, 32, 32, 64, 2048, 1e4, 1, 0, 0, kMla},
    {"deepseek_v3", 61, 7168, 128, 128, 64, 4096, 1e4, 1, 0, 0, kMla},
    {"deepseek_v32", 61, 7168, 128, 128, 64, 163840, 1e4, 1, 0, 0, kMla},
    {"diffllama", 16, 2048, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"doge", 32, 1024, 8, 8, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"dots1", 62, 4608, 32, 32, 0, 2048, 1e4, 1, 4096, 0, kPlain},
    {"ernie4_5", 18, 1024, 16, 2, 128, 131072, 5e5, 1, 0, 0, kPlain},
    {"ernie4_5_moe", 28, 2560, 20, 4, 0, 131072, 5e5, 1, 0, 0, kPlain},
    {"exaone4", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 4096, 4, kFullWithoutRope | kPattern},
    {"exaone_moe", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 4096, 4, kFullWithoutRope | kPattern},
    {"falcon", 32, 4544, 71, 71, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"falcon_h1", 32, 4096, 32, 8, 0, 8192, 1e4, 1, 0, 0, kPlain},
    {"flex_olmo", 32, 4096, 32, 32, 0, 4096, 5e5, 1, 0, 0, kPlain},
    {"gemma", 28, 3072, 16, 16, 256, 8192, 1e4, 1, 0, 0, kPlain},
    {"gemma2", 26, 2304, 8, 4, 256, 8192, 1e4, 1, 4096, 2, kPlain},
    {"gemma3_text", 26, 2304, 8, 4, 256, 131072, 1e6, 1, 4096, 6, kByLayerType | kLocalBase | kPattern},
    {"gemma3n_text", 35, 2048, 8, 2, 256, 32768, 1e6, 1, 512, 5, kByLayerType | kLocalBase},
    {"gemma4_text", 30, 2304, 8, 4, 256, 131072, 0, 1, 512, 6, kByLayerType | kGlobalHeadDim, kGemma4Rope},
    {"gemma4_unified_text", 30, 2304, 8, 4, 256, 262144, 0, 1, 1024, 6, kByLayerType | kGlobalHeadDim, kGemma4Rope},
    {"glm", 40, 4096, 32, 2, 128, 131072, 1e4, 0.5, 0, 0, kPartial},
    {"glm4", 40, 4096, 32, 2, 128, 131072, 1e4, 0.5, 0, 0, kPartial},
    {"glm4_moe", 46, 4096, 96, 8, 0, 131072, 1e4, 0.5, 0, 0, kPartial},
    {"glm4_moe_lite", 47, 2048, 20, 20, 64, 202752, 1e4, 1, 0, 0, kPartial | kMla},
    {"glm4v_moe_text", 46, 4096, 96, 8, 0, 65536, 1e4, 0.5, 0, 0, kPartial},
    {"glm4v_text", 40, 4096, 32, 2, 0, 32768, 1e4, 1, 0, 0, kPartial},
    {"glm_moe_dsa", 78, 6144, 64, 64, 64, 202752, 1e4, 1, 0, 0, kMla},
    {"gpt_neox", 44, 6144, 64, 64, 0, 2048, 1e4, 0.25, 0, 0, kPartial | kNeoxNames},
    {"gpt_oss", 36, 2880, 64, 8, 64, 131072, 1.5e5, 1, 128, 2, kPlain, kGptOssRope},
    {"gptj", 28, 4096, 16, 16, 0, 2048, 1e4, 0.25, 0, 0, kPartial | kRotaryDim},
    {"granite", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"granitemoe", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"granitemoehybrid", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"granitemoeshared", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"helium", 24, 2560, 20, 20, 128, 4096, 1e5, 1, 0, 0, kPlain},
    {"hunyuan_v1_dense", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kAlpha},
    {"hunyuan_v1_moe", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kAlpha},
    {"hyperclovax", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"jais2", 32, 3328, 26, 26, 0, 8192, 1e4, 1, 0, 0, kPlain},
    {"jetmoe", 12, 2048, 32, 16, 128, 4096, 1e4, 1, 0, 0, kPlain},
    {"lfm2", 32, 2560, 32, 8, 0, 128000, 1e6, 1, 0, 0, kPlain},
    {"lfm2_moe", 32, 2048, 32, 8, 0, 128000, 1e6, 1, 0, 0, kPlain},
    {"llama", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"llama4_text", 48, 5120, 40, 8, 128, 131072, 5e5, 1, 8192, 4, kFourthWithoutRope | kChunkedOthers},
    {"longcat_flash", 56, 6144, 64, 64, 64, 131072, 1e7, 1, 0, 0, kMla},
    {"minicpm", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kOwnCode},
    {"minicpm3", 62, 2560, 40, 40, 32, 32768, 1e4, 1, 0, 0, kMla},
    {"minimax", 32, 4096, 32, 8, 0, 131072, 1e6, 1, 0, 0, kPlain},
    {"minimax_m2", 62, 3072, 48, 8, 128, 196608, 5e6, 1, 0, 0, kPartial | kRotaryDim},
    {"ministral", 32, 4096, 32, 8, 0, 131072, 1e4, 1, 4096, 0, kPlain},
    {"ministral3", 34, 4096, 32, 8, 128, 262144, 1e4, 1, 0, 0, kPlain, kMinistral3Rope},
    {"mistral", 32, 4096, 32, 8, 0, 131072, 1e4, 1, 4096, 0, kPlain},
    {"mixtral", 32, 4096, 32, 8, 0, 131072, 1e6, 1, 0, 0, kPlain},
    {"mllama_text_model", 40, 4096, 32, 8, 0, 131072, 5e5, 1, 0, 0, kPlain},
    {"nanochat", 12, 768, 6, 6, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"nemotron", 32, 6144, 48, 48, 0, 4096, 1e4, 0.5, 0, 0, kPartial},
    {"olmo", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"olmo2", 32, 4096, 32, 32, 0, 2048, 1e4, 1, 0, 0, kPlain},
    {"olmo3", 32, 4096, 32, 32, 0, 2048, 5e5, 1, 4096, 4, kByLayerType},
    {"olmoe", 16, 2048, 16, 16, 0, 4096, 1e4, 1, 0, 0, kPlain},
    {"persimmon", 36, 4096, 64, 64, 0, 16384, 1e4, 0.5, 0, 0, kPartial},
    {"phi", 24, 2048, 32, 32, 0, 2048, 1e4, 0.5, 0, 0, kPartial},
    {"phi3", 32, 3072, 32, 32, 0, 4096, 1e4, 1, 0, 0, kPartial | kPhi3},
    {"phi4_multimodal", 32, 3072, 32, 8, 0, 131072, 1e4, 1, 0, 0, kPartial | kPhi3},
    {"phimoe", 32, 4096, 32, 8, 0, 131072, 1e6, 1, 0, 0, kMscalePair},
    {"qwen2", 32, 4096, 32, 32, 0, 32768, 1e4, 1, 4096, 0, kWindowSwitch},
    {"qwen2_5_omni_text", 28, 3584, 28, 4, 0, 32768, 1e6, 1, 32768, 0, kWindowSwitch},
    {"qwen2_5_vl_text", 80, 8192, 64, 8, 0, 32768, 1e6, 1, 4096, 0, kWindowSwitch},
    {"qwen2_moe", 24, 2048, 16, 16, 0, 32768, 1e4, 1, 4096, 0, kWindowSwitch},
    {"qwen2_vl_text", 80, 8192, 64, 8, 0, 32768, 1e6, 1, 4096, 0, kWindowSwitch},
    {"qwen3", 32, 4096, 32, 32, 128, 32768, 1e4, 1, 4096, 0, kWindowSwitch},
    {"qwen3_5_moe_text", 40, 2048, 16, 2, 256, 32768, 1e4, 0.25, 0, 4, kPartial | kLinearOthers},
    {"qwen3_5_text", 32, 4096, 16, 4, 256, 32768, 1e4, 0.25, 0, 4, kPartial | kLinearOthers},
    {"qwen3_moe", 24, 2048, 32, 4, 0, 32768, 1e4, 1, 4096, 0, kWindowSwitch},
    {"qwen3_next", 48, 2048, 16, 2, 256, 32768, 1e4, 0.25, 0, 4, kPartial | kLinearOthers},
    {"qwen3_omni_moe_text", 28, 2048, 28, 4, 0, 32768, 1e6, 1, 0, 0, kPlain},
    {"qwen3_vl_moe_text", 24, 2048, 16, 16, 0, 128000, 5e5, 1, 0, 0, kPlain},
    {"qwen3_vl_text", 32, 4096, 32, 32, 128, 128000, 5e5, 1, 0, 0, kPlain},
    {"seed_oss", 64, 4096, 80, 8, 128, 524288, 1e4, 1, 0, 0, kPlain},
    {"smollm3", 36, 2048, 16, 4, 0, 32768, 2e6, 1, 0, 0, kFourthWithoutRope},
    {"solar_open", 48, 4096, 64, 8, 128, 131072, 1e6, 1, 0, 0, kPartial},
    {"stablelm", 32, 2560, 32, 32, 0, 4096, 1e4, 0.25, 0, 0, kPartial},
    {"starcoder2", 30, 3072, 24, 2, 0, 4096, 1e4, 1, 0, 0, kPlain},
    {"vaultgemma", 26, 2304, 8, 4, 256, 8192, 1e4, 1, 4096, 2, kPlain},
    {"youtu", 32, 2048, 16, 16, 64, 131072, 1e4, 1, 0, 0, kMla},
    // clang-format on
}};

const HfClass* lookup(std::string_view name) noexcept {
  const auto* const found =
      std::lower_bound(kClasses.begin(), kClasses.end(), name,
                       [](const HfClass& a, std::string_view b) noexcept { return a.model_type < b; });
  return found != kClasses.end() && found->model_type == name ? &*found : nullptr;
}

}  // namespace

const HfClass* find_hf_class(std::string_view model_type) noexcept {
  if (const HfClass* exact = lookup(model_type)) return exact;
  constexpr std::string_view suffix = "_text";
  for (const HfClass& c : kClasses) {
    if (c.model_type.size() == model_type.size() + suffix.size() && c.model_type.starts_with(model_type) &&
        c.model_type.ends_with(suffix)) {
      return &c;
    }
  }
  return nullptr;
}

}  // namespace mrrope::formats

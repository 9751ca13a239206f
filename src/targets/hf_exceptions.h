// SPDX-License-Identifier: MIT
//
// Behaviour that belongs to one engine and some models: data for hf_rules.cpp. The first row that fits decides.
#pragma once

#include <array>

#include "targets/hf_rules.h"

namespace mrrope::targets {

inline constexpr unsigned kScaled = kEvery & ~unsigned{kDefault};

inline constexpr std::string_view kFixedModels = "gptj codegen";
inline constexpr std::string_view kFixedTable = "has the table of this model in its code, with base 10000";
inline constexpr std::string_view kKnownModel = "has a class for this model";
inline constexpr std::string_view kUnknownModel = "does not know this model";

inline constexpr auto kTransformers5Exceptions = std::to_array<HfException>({
    {kFixedModels, kEvery, Outcome::fixed, kFixedTable},
});

inline constexpr auto kTransformers4Exceptions = std::to_array<HfException>({
    {kFixedModels, kEvery, Outcome::fixed, kFixedTable},
    {"afmoe axk1 cohere2_moe deepseek_v32 exaone_moe gemma4_text gemma4_unified_text glm4_moe_lite glm_moe_dsa "
     "hyperclovax jais2 lfm2_moe minicpm3 minimax_m2 ministral3 nanochat qwen3_5_moe_text qwen3_5_text solar_open "
     "youtu",
     kEvery, Outcome::refused, kUnknownModel},
});

// Models with the latent attention of DeepSeek, which vLLM and SGLang run by their code for DeepSeek V2.
inline constexpr std::string_view kLatentModels =
    "axk1 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa kimi_k2 longcat_flash";
inline constexpr unsigned kNotYarn = kScaled & ~unsigned{kYarn};
inline constexpr unsigned kNotLinear = kScaled & ~unsigned{kLinear};
inline constexpr unsigned kNotDynamic = kScaled & ~unsigned{kDynamic};
inline constexpr unsigned kNotLongRope = kScaled & ~unsigned{kLongRope};
inline constexpr std::string_view kDeepSeekYarn = "runs its YaRN for DeepSeek in place of any scaling of this model";

// Both engines rotate by longrope in halves only.
inline constexpr std::string_view kHalvesOnly =
    "has longrope for heads that turn as halves, not as interleaved pairs (ValueError: only supports neox_style)";
inline constexpr std::string_view kPairsAsHalves =
    "rotates interleaved pairs as halves with longrope on this model, and says nothing";
// commandr.py, cohere2_moe.py, glm4.py, ernie45_moe.py, ernie45.py, gpt_oss.py
inline constexpr auto kVllmExceptions = std::to_array<HfException>({
    {"cohere cohere2 cohere2_moe glm4 ernie4_5_moe", kLongRope, Outcome::refused, kHalvesOnly},
    {"ernie4_5", kLongRope, Outcome::broken, kPairsAsHalves},
    {"gpt_oss", kEvery & ~unsigned{kYarn}, Outcome::refused, "hard-codes yarn for gpt-oss (KeyError: 'beta_fast')"},
    {kLatentModels, kNotYarn, Outcome::broken, kDeepSeekYarn},
    // models/transformers/base.py:621
    {"bamba diffllama minimax", kEvery, Outcome::refused,
     "leaves this model to transformers, and cannot run its layers there (ValueError: does not dispatch through the "
     "Transformers attention interface)"},
    {"codegen", kEvery, Outcome::refused, kUnknownModel},
    // models/registry.py:709 lists these …
    {"arcee flex_olmo glm gpt_neox hunyuan_v1_dense hunyuan_v1_moe jais2 olmo olmo2 olmo3 phi seed_oss smollm3 "
     "starcoder2 vaultgemma "
     // … and registry.py:1345 does so with all that it has no class for and transformers can run in its attention
     "bitnet doge dots1 helium jetmoe ministral nanochat persimmon phi4_multimodal solar_open youtu",
     kScaled, Outcome::handed_on, "leaves this model to transformers, and rotates as that does"},
});

// commandr.py, cohere2_moe.py, glm4.py, ernie4.py
inline constexpr auto kSglangExceptions = std::to_array<HfException>({
    {"cohere cohere2 cohere2_moe glm4 ernie4_5 ernie4_5_moe", kLongRope, Outcome::refused, kHalvesOnly},
    {"qwen3_moe gemma4_text bailing_moe", kLongRope, Outcome::refused,
     "fails with longrope on this model (TypeError: fused_set_kv_buffer_arg)"},
    {"gemma3_text gemma3", kScaled, Outcome::built_once, ""},
    {kLatentModels, kNotYarn, Outcome::broken, kDeepSeekYarn},
});

inline constexpr auto kTensorRtExceptions = std::to_array<HfException>({
    {"qwen3 qwen3_moe exaone4", kScaled, Outcome::ignored,
     "rotates plainly on this model: the fused kernel of models with q and k norms gets no table"},
});

// models/*.py: each model has a file, and some of these call nn.RoPE themselves, without the scaling.
inline constexpr auto kMlxExceptions = std::to_array<HfException>({
    {"phi3", kLinear | kYarn | kDynamic | kLlama3, Outcome::refused,
     "knows only longrope on Phi-3 (ValueError: rope_scaling must contain keys long_factor and type)"},
    {"gptj", kEvery, Outcome::fixed, kFixedTable},
    {"cohere cohere2 ernie4_5 ernie4_5_moe gemma gemma2 gemma3n gemma3n_text glm glm4 glm4_moe gpt_neox "
     "granitemoehybrid helium lfm2 lfm2_moe llama4 llama4_text minimax minimax_m2 mixtral nanochat olmo phi qwen3_moe "
     "qwen3_vl_moe qwen3_vl_moe_text solar_open stablelm starcoder2",
     kScaled, Outcome::ignored, "does not read rope_scaling on this model"},
    {"deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa kimi_k2 longcat_flash", kLongRope, Outcome::broken,
     kPairsAsHalves},
    {"deepseek_v2", kNotYarn, Outcome::broken, kDeepSeekYarn},
    {"gpt_oss", kDynamic | kLongRope, Outcome::refused,
     "hands gpt-oss no length for this scaling (TypeError: max_position_embeddings is None)"},
    {"minicpm3", kNotLongRope, Outcome::ignored, "knows only longrope on this model"},
    {"phimoe", kNotLongRope, Outcome::refused, "knows only longrope on this model (KeyError: 'short_factor')"},
    {"nemotron", kNotLinear, Outcome::refused, "knows only linear on this model (ValueError)"},
    {"qwen2_moe", kNotLinear, Outcome::refused, "knows only linear on this model (ValueError)"},
    {"qwen2_moe", kLinear, Outcome::ignored, "drops the factor of linear on this model"},
    {"hunyuan_v1_dense", kNotDynamic, Outcome::refused, "knows only alpha on this model (ValueError)"},
    {"arcee axk1 bamba codegen cohere2_moe diffllama doge falcon flex_olmo glm4v glm4v_text glm4v_moe glm4v_moe_text "
     "granitemoeshared hunyuan_v1_moe hyperclovax jais2 jetmoe ministral mllama_text_model persimmon phi4_multimodal "
     "qwen2_5_omni qwen2_5_omni_text qwen3_omni_moe qwen3_omni_moe_text vaultgemma youtu",
     kEvery, Outcome::refused, kUnknownModel},
});

// architecture/*.py
inline constexpr auto kExLlamaV3Exceptions = std::to_array<HfException>({
    {"afmoe apertus arcee cohere cohere2 deepseek_v3 dots1 ernie4_5 ernie4_5_moe exaone4 gemma2 gemma3 gemma3_text "
     "gemma4 gemma4_text gemma4_unified gemma4_unified_text glm4 glm4_moe glm4_moe_lite glm4v glm4v_text glm4v_moe "
     "glm4v_moe_text glm_moe_dsa gpt_oss hyperclovax kimi_k2 lfm2 lfm2_moe llama mimo minimax_m2 ministral3 mistral "
     "mixtral nemotron_h olmo3 phi3 qwen2 qwen2_5_vl qwen2_5_vl_text qwen3 qwen3_5 qwen3_5_text qwen3_5_moe "
     "qwen3_5_moe_text qwen3_moe qwen3_next qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text seed_oss smollm3 "
     "solar_open",
     kEvery, Outcome::honoured, kKnownModel},
    {"", kEvery, Outcome::refused, kUnknownModel},
});

// pytorch/models/module_map.py
inline constexpr auto kLmdeployExceptions = std::to_array<HfException>({
    {"gemma3_text gemma3", kEvery, Outcome::as_linear, "takes every scaling of Gemma 3 for linear"},
    {"baichuan chatglm deepseek deepseek_v2 deepseek_v3 deepseek_v32 gemma gemma2 glm4 glm4_moe glm4_moe_lite glm4v "
     "glm4v_text glm_moe_dsa gpt_oss internlm internlm2 internlm3 kimi_k2 llama llama4 llama4_text minicpm3 mistral "
     "mixtral mllama_text_model phi3 phimoe qwen qwen2 qwen2_5_vl qwen2_5_vl_text qwen2_moe qwen2_vl qwen2_vl_text "
     "qwen3 qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text qwen3_moe qwen3_next qwen3_omni_moe "
     "qwen3_omni_moe_text qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text starcoder2",
     kEvery, Outcome::honoured, kKnownModel},
    {"", kEvery, Outcome::refused, kUnknownModel},
});

// "Llama builder" serves llama only; the others go through base.py.
inline constexpr auto kOnnxExceptions = std::to_array<HfException>({
    {"llama", kLinear | kDynamic | kYarn | kLongRope, Outcome::ignored, "ignores every scaling but llama3 on Llama"},
    {"phi3", kLongRope, Outcome::honoured, ""},
    {"", kLongRope, Outcome::refused, "has longrope for Phi-3 only (NotImplementedError)"},
    {"llama", kLlama3, Outcome::honoured, ""},
    {"", kLlama3, Outcome::refused, "has llama3 for Llama only (NotImplementedError)"},
});

inline constexpr auto kMistralRsExceptions = std::to_array<HfException>({
    {"llama smollm3", kDynamic | kYarn | kLongRope, Outcome::refused,
     "knows only llama3, linear and default on this model (ValueError: unknown variant)"},
    {"llama smollm3", kEvery, Outcome::honoured, ""},
    {"phi3", kLongRope, Outcome::honoured, ""},
    {"gemma3_text gemma3", kLinear, Outcome::honoured, ""},
    {"gemma3_text gemma3", kScaled, Outcome::refused, "knows linear only on Gemma 3"},
    {"mistral", kScaled, Outcome::ignored, "does not read rope_scaling on Mistral (only yarn in rope_parameters)"},
    {"", kScaled, Outcome::ignored, "has no field for a scaling on this model"},
});

inline constexpr auto kCandleExceptions = std::to_array<HfException>({
    {"llama", kScaled & ~unsigned{kLlama3}, Outcome::refused,
     "knows only llama3 and default on Llama (serde: unknown variant)"},
    {"llama", kLlama3, Outcome::honoured, ""},
    {"phi3", kLongRope, Outcome::inverted, "multiplies the speeds of Phi-3 by the factors instead of dividing"},
    {"", kScaled, Outcome::ignored, "has no field for a scaling on this model"},
});

inline constexpr auto kTgiExceptions = std::to_array<HfException>({
    {"", kLinear, Outcome::ignored, "drops the factor of linear"},
});

inline constexpr auto kMlcExceptions = std::to_array<HfException>({
    {"llama", kScaled & ~unsigned{kLlama3}, Outcome::refused, "knows llama3 only on Llama (AssertionError)"},
    {"llama", kLlama3, Outcome::honoured, ""},
    {"phi3", kLongRope, Outcome::honoured, ""},
    {"", kScaled, Outcome::ignored, "does not read rope_scaling on this model"},
});

}  // namespace mrrope::targets

// SPDX-License-Identifier: MIT
//
// Behaviour that belongs to one engine and some models: data for hf_rules.cpp. The first row that fits decides.
#pragma once

#include <array>

#include "targets/hf_rules.h"

namespace mrrope::targets {

inline constexpr unsigned kScaled = kEvery & ~unsigned{kDefault};

inline constexpr std::string_view kFixedModels = "gptj codegen";

inline constexpr auto kTransformers5Exceptions = std::to_array<HfException>({
    {kFixedModels, kEvery, Outcome::fixed, "has the table of this model in its code, with base 10000"},
});

inline constexpr auto kTransformers4Exceptions = std::to_array<HfException>({
    {kFixedModels, kEvery, Outcome::fixed, "has the table of this model in its code, with base 10000"},
    {"afmoe axk1 cohere2_moe deepseek_v32 exaone_moe gemma4_text gemma4_unified_text glm4_moe_lite glm_moe_dsa "
     "hyperclovax jais2 lfm2_moe minicpm3 minimax_m2 ministral3 nanochat qwen3_5_moe_text qwen3_5_text solar_open "
     "youtu",
     kEvery, Outcome::refused, "does not know this model"},
});

// Models with the latent attention of DeepSeek, which vLLM and SGLang run by their code for DeepSeek V2.
inline constexpr std::string_view kLatentModels =
    "axk1 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa kimi_k2 longcat_flash";
inline constexpr unsigned kNotYarn = kScaled & ~unsigned{kYarn};

inline constexpr auto kVllmExceptions = std::to_array<HfException>({
    {"glm glm4 ernie4_5 ernie4_5_moe", kLongRope, Outcome::broken,
     "rotates interleaved pairs as halves with longrope on this model, and says nothing"},
    {"gpt_oss", kLongRope, Outcome::ignored, "hard-codes yarn for gpt-oss"},
    {kLatentModels, kNotYarn, Outcome::broken, "runs its YaRN for DeepSeek in place of any scaling of this model"},
});

inline constexpr auto kSglangExceptions = std::to_array<HfException>({
    {"qwen3_moe gemma4_text bailing_moe", kLongRope, Outcome::refused,
     "fails with longrope on this model (TypeError: fused_set_kv_buffer_arg)"},
    {"gemma3_text gemma3", kScaled, Outcome::built_once, ""},
    {kLatentModels, kNotYarn, Outcome::broken, "runs its YaRN for DeepSeek in place of any scaling of this model"},
});

inline constexpr auto kTensorRtExceptions = std::to_array<HfException>({
    {"qwen3 qwen3_moe exaone4", kScaled, Outcome::ignored,
     "rotates plainly on this model: the fused kernel of models with q and k norms gets no table"},
});

inline constexpr auto kMlxExceptions = std::to_array<HfException>({
    {"phi3", kLinear | kYarn | kDynamic | kLlama3, Outcome::refused,
     "knows only longrope on Phi-3 (ValueError: rope_scaling must contain keys long_factor and type)"},
});

inline constexpr auto kLmdeployExceptions = std::to_array<HfException>({
    {"gemma3_text gemma3", kEvery, Outcome::as_linear, "takes every scaling of Gemma 3 for linear"},
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

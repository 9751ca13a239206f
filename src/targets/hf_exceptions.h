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
inline constexpr std::string_view kNotRead = "has a class for this model that nobody has read";

inline constexpr auto kTransformers5Exceptions = std::to_array<HfException>({
    {kFixedModels, kEvery, Outcome::fixed, kFixedTable},
});

inline constexpr auto kTransformers4Exceptions = std::to_array<HfException>({
    {kFixedModels, kEvery, Outcome::fixed, kFixedTable},
    {"olmo olmo2", kScaled & ~unsigned{kLinear} & ~unsigned{kDynamic}, Outcome::refused,
     "takes linear and dynamic only on this model (ValueError: a dictionary with two fields)",
     "models/olmo2/configuration_olmo2.py, _rope_scaling_validation"},
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
// models/registry.py:709 lists models that vLLM has no class for and lets transformers run …
inline constexpr std::string_view kLeftByVllm =
    "arcee flex_olmo glm gpt_neox hunyuan_v1_dense hunyuan_v1_moe jais2 olmo olmo2 olmo3 phi seed_oss smollm3 "
    "starcoder2 vaultgemma "
    // … and :1345 does so with all others that transformers can run with vLLM's attention
    "bitnet doge dots1 helium jetmoe ministral mllama_text_model nanochat persimmon phi4_multimodal solar_open youtu";
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
    // It compiles all but dynamic, and the compiler stops where longrope asks for the length
    {kLeftByVllm, kLongRope, Outcome::handed_on,
     "leaves this model to transformers, and rotates as that does; with longrope it starts with --enforce-eager only "
     "(Unsupported: Data-dependent branching)",
     "models/transformers/utils.py:360", "--enforce-eager"},
    {kLeftByVllm, kScaled, Outcome::handed_on, "leaves this model to transformers, and rotates as that does"},
});

// commandr.py, cohere2_moe.py, glm4.py, ernie4.py
inline constexpr auto kSglangExceptions = std::to_array<HfException>({
    {"cohere cohere2 cohere2_moe glm4 ernie4_5 ernie4_5_moe", kLongRope, Outcome::refused, kHalvesOnly},
    {"qwen3_moe gemma4_text bailing_moe", kLongRope, Outcome::refused,
     "fails with longrope on this model (TypeError: fused_set_kv_buffer_arg)"},
    {"gemma3_text gemma3", kScaled, Outcome::built_once, ""},
    {kLatentModels, kNotYarn, Outcome::broken, kDeepSeekYarn},
});

// Up to 1.2 the fused kernel is told of yarn by getattr() on a dictionary, which finds nothing (TensorRT-LLM#8384).
inline constexpr std::string_view kTensorRtQwen =
    "has no kind of position embedding by that name on this model (ValueError)";
inline constexpr auto kTensorRtExceptions = std::to_array<HfException>({
    {"qwen2 qwen3 qwen3_moe", kYarn, Outcome::ignored,
     "rotates plainly on this model up to 1.2: its fused kernel never hears of yarn",
     "_torch/modules/qk_norm_attention.py, compute_yarn_parameters; models/modeling_qwen.py, QwenYarnAttention"},
    {"qwen2 qwen3 qwen3_moe", kScaled, Outcome::refused, kTensorRtQwen,
     "_torch/models/modeling_qwen.py, QwenAttention; modeling_qwen3.py, Qwen3Attention"},
    {"", kDynamic, Outcome::refused, "has dynamic with alpha only (KeyError: 'alpha')",
     "functional.py, create_sinusoidal_positions_for_attention_plugin"},
    {"mistral", kYarn, Outcome::unchecked,
     "rotates yarn in interleaved pairs on Mistral; whether its weights are, was not checked",
     "_torch/models/modeling_mistral.py, MistralAttention"},
    {"llama phi3 exaone4 qwen2 qwen3 qwen3_moe mistral", kEvery, Outcome::honoured, kKnownModel},
    {"afmoe apertus cohere2 deepseek_v3 deepseek_v32 exaone_moe gemma3 gemma3_text gemma4 gemma4_text gemma4_unified "
     "gemma4_unified_text glm4_moe glm_moe_dsa gpt_oss hunyuan_v1_dense hunyuan_v1_moe hyperclovax kimi_k2 llama4 "
     "llama4_text minimax_m2 mixtral mllama_text_model nemotron nemotron_h phi4_multimodal qwen2_moe qwen2_vl "
     "qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_next qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text "
     "qwen3_5 "
     "qwen3_5_text qwen3_5_moe qwen3_5_moe_text seed_oss starcoder2",
     kEvery, Outcome::unchecked, kNotRead},
    {"", kEvery, Outcome::refused, kUnknownModel, "_torch/models/_arch_index.py"},
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
    {"ernie4_5 gemma gemma2 gemma3 gemma3_text gemma4 gemma4_text gemma4_unified gemma4_unified_text gpt_oss granite "
     "granitemoehybrid hunyuan_v1_dense lfm2 lfm2_moe llama ministral3 mistral nemotron olmo phi phi3 phi4_multimodal "
     "phimoe qwen2 qwen2_5_vl qwen2_5_vl_text qwen3 qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text qwen3_vl "
     "qwen3_vl_text smollm3",
     kEvery, Outcome::honoured, kKnownModel},
    {"", kEvery, Outcome::refused, kUnknownModel, "models/builder.py:806"},
});

// mistralrs-core/src; what is not Llama was read at v0.9.2. Its readers have declared fields: others are not seen, and
// a name that is not among theirs is an error.
inline constexpr std::string_view kMistralRsLlama = "llama llama4 llama4_text smollm3";
inline constexpr std::string_view kMistralRsPhi = "phi3 phi4_multimodal phimoe";
inline constexpr std::string_view kMistralRsGemma = "gemma3 gemma3_text gemma3n gemma3n_text";
inline constexpr std::string_view kNoField = "has no field for a scaling on this model";
inline constexpr auto kMistralRsExceptions = std::to_array<HfException>({
    {kMistralRsLlama, kDynamic | kYarn | kLongRope | kProportional, Outcome::refused,
     "knows only llama3, linear and default on this model (ValueError: unknown variant)", "layers.rs:1025"},
    {kMistralRsLlama, kEvery, Outcome::honoured, "", "layers.rs:1025"},
    {kMistralRsPhi, kDefault | kLongRope, Outcome::honoured, "", "layers.rs:692"},
    {kMistralRsPhi, kEvery, Outcome::refused, "knows only longrope on this model", "layers.rs:692"},
    {kMistralRsGemma, kDefault | kLinear, Outcome::honoured, "", "layers.rs:2300"},
    {kMistralRsGemma, kEvery, Outcome::refused, "knows linear only on this model", "layers.rs:2300"},
    {"deepseek_v2 deepseek_v3 mistral", kDefault | kYarn, Outcome::honoured, "",
     "layers.rs:1869, models/mistral.rs:446"},
    {"deepseek_v2 deepseek_v3 mistral", kEvery, Outcome::refused, "knows yarn only on this model",
     "layers.rs:2013, models/mistral.rs:38"},
    {"gpt_oss", kDefault | kYarn, Outcome::honoured, "", "models/gpt_oss.rs:742"},
    {"gpt_oss", kEvery, Outcome::ignored, "runs gpt-oss plainly with any scaling but yarn", "models/gpt_oss.rs:756"},
    {"granitemoehybrid", kScaled, Outcome::refused, "knows no scaling on this model (unknown variant)",
     "models/granite.rs:60"},
    {"lfm2 lfm2_moe", kScaled, Outcome::refused, "knows no scaling on this model", "models/lfm2.rs:996"},
    {"hunyuan_v1_dense hunyuan_v1_moe", kNotDynamic, Outcome::refused, "knows only alpha on this model",
     "models/hunyuan_rope.rs:26"},
    {"qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text", kScaled,
     Outcome::ignored, "reads mrope_section only on this model", "vision_models/qwen3_vl/config.rs:57"},
    {"gemma gemma2 glm4 glm4_moe glm4_moe_lite mixtral phi qwen2 qwen3 qwen3_moe qwen3_next starcoder2", kScaled,
     Outcome::ignored, kNoField, "models/qwen3.rs:48, models/qwen2.rs:42"},
    {"gemma gemma2 glm4 glm4_moe glm4_moe_lite granitemoehybrid lfm2 lfm2_moe mixtral phi qwen2 qwen2_vl qwen2_vl_text "
     "qwen2_5_vl qwen2_5_vl_text qwen3 qwen3_moe qwen3_next qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text "
     "starcoder2",
     kDefault, Outcome::honoured, kKnownModel},
    {"gemma4 gemma4_text gemma4_unified gemma4_unified_text hunyuan_v1_dense hunyuan_v1_moe mllama_text_model qwen3_5 "
     "qwen3_5_text qwen3_5_moe qwen3_5_moe_text",
     kEvery, Outcome::unchecked, kNotRead},
    {"", kEvery, Outcome::refused, kUnknownModel, "pipeline/loaders/normal_loaders.rs:287"},
});

// candle-transformers/src/models at 0.11.0: a library, which has a file for each model.
inline constexpr std::string_view kCandlePlain =
    "falcon gemma gemma2 gemma3 gemma3_text glm4 helium lfm2 mistral mixtral olmo olmo2 persimmon phi qwen2 qwen2_moe "
    "qwen3 qwen3_moe qwen3_vl qwen3_vl_text smollm3 stablelm starcoder2";
inline constexpr auto kCandleExceptions = std::to_array<HfException>({
    {"llama", kScaled & ~unsigned{kLlama3}, Outcome::refused,
     "knows only llama3 and default on Llama (serde: unknown variant)", "llama.rs:15"},
    {"llama", kDefault | kLlama3, Outcome::honoured, "", "llama.rs:166"},
    {"phi3", kLongRope, Outcome::inverted, "multiplies the speeds of Phi-3 by the factors instead of dividing",
     "phi3.rs:100"},
    {"phi3", kScaled, Outcome::refused, "knows only longrope on Phi-3 (serde: unknown variant)", "phi3.rs:28"},
    {"deepseek_v2", kDefault | kYarn, Outcome::honoured, "", "deepseek2.rs:455"},
    {"deepseek_v2", kScaled, Outcome::refused, "knows yarn only on this model", "deepseek2.rs:459"},
    {"granite granitemoehybrid", kScaled, Outcome::refused,
     "knows no scaling of others on this model (unknown variant)", "granite.rs:14"},
    {kCandlePlain, kScaled, Outcome::ignored, "applies no scaling on this model", "qwen3.rs:16, qwen2.rs:23"},
    {kCandlePlain, kDefault, Outcome::honoured, kKnownModel},
    {"granite granitemoehybrid phi3", kDefault, Outcome::honoured, kKnownModel},
    {"gemma4 gemma4_text gemma4_unified gemma4_unified_text", kEvery, Outcome::unchecked, kNotRead},
    {"", kEvery, Outcome::refused, kUnknownModel, "mod.rs"},
});

// server/text_generation_server/models/custom_modeling: other models are left to transformers.
inline constexpr auto kTgiExceptions = std::to_array<HfException>({
    {"gptj", kEvery, Outcome::unchecked, kNotRead},
    {"", kLinear, Outcome::ignored, "drops the factor of linear", "layers/rotary.py:92"},
    {"cohere deepseek_v2 deepseek_v3 falcon gemma gemma2 gemma3 gemma3_text gpt_neox granite llama mistral mixtral "
     "mllama_text_model phi phi3 phimoe qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text starcoder2",
     kEvery, Outcome::honoured, kKnownModel},
    {"", kEvery, Outcome::unchecked, "leaves this model to transformers", "models/__init__.py:1742"},
});

// python/mlc_llm/model at 79d603f0.
inline constexpr std::string_view kMlcPlain =
    "cohere gemma gemma2 gemma3 gemma3_text gpt_neox mistral mixtral olmo olmo2 phi qwen2 qwen2_5_vl qwen2_5_vl_text "
    "qwen2_moe qwen3 qwen3_5 qwen3_5_text qwen3_moe stablelm starcoder2";
inline constexpr auto kMlcExceptions = std::to_array<HfException>({
    {"llama llama4 llama4_text", kScaled & ~unsigned{kLlama3}, Outcome::refused,
     "knows llama3 only on Llama (AssertionError)", "llama/llama_model.py:56"},
    {"llama", kDefault | kLlama3, Outcome::honoured, "", "llama/llama_model.py:56"},
    {"phi3", kDefault | kLongRope, Outcome::honoured, "", "phi3/phi3_model.py:54"},
    {"phi3", kEvery, Outcome::refused, "knows only longrope on Phi-3 (AssertionError)", "phi3/phi3_model.py:61"},
    {kMlcPlain, kScaled, Outcome::ignored, "does not read rope_scaling on this model", "qwen3/qwen3_model.py:372"},
    {kMlcPlain, kDefault, Outcome::honoured, kKnownModel},
    {"deepseek_v2 deepseek_v3 gptj llama4 llama4_text ministral3 nemotron", kEvery, Outcome::unchecked,
     "hands the scaling of this model to TVM, which nobody has read", "deepseek_v2/deepseek_v2_model.py:157"},
    {"", kEvery, Outcome::refused, kUnknownModel, "model.py:134"},
});

// exllamav2/architecture.py, by the name of the class.
inline constexpr auto kExLlamaV2Exceptions = std::to_array<HfException>({
    {"", kProportional, Outcome::ignored, "passes over a type that it does not know", "config.py:383"},
    {"cohere cohere2 gemma gemma2 glm4 granite llama mistral mixtral phi3 qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl "
     "qwen2_5_vl_text qwen3 qwen3_moe starcoder2",
     kEvery, Outcome::honoured, kKnownModel},
    {"gemma3 gemma3_text", kEvery, Outcome::unchecked, kNotRead},
    {"", kEvery, Outcome::unchecked, "does not know this model and tries it as a Llama", "architecture.py:924"},
});

}  // namespace mrrope::targets

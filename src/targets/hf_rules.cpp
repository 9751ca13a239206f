// SPDX-License-Identifier: MIT
//
// The rules, engine by engine. Evidence "run": the table was read out of the installed engine of that version, without
// weights, on a CPU; the rows in hf_exceptions.h and rope types that were not run are read in the source named.
// docs/engines.md is generated from here.
#include "targets/hf_rules.h"

#include <array>

#include "targets/hf_exceptions.h"

namespace mrrope::targets {

namespace {

// Configuration classes that keep head_dim = None, and multiply it (modeling_rope_utils.py, dynamic, yarn, longrope).
constexpr std::string_view kNoneHeadDim4 = "mistral mixtral ministral minimax hunyuan_v1_dense hunyuan_v1_moe";

// The day of the last run of tests/engines, and the models it built: tests/engines/test_conformance.py checks the
// latter.
constexpr std::string_view kVerified = "2026-11-15";
constexpr std::string_view kShapes = "llama qwen2 qwen3 mistral gemma3_text phi3";
constexpr std::string_view kShapesAndSections =
    "llama qwen2 qwen3 mistral gemma3_text phi3 qwen2_5_vl qwen3_vl qwen3_vl_text qwen3_5 qwen3_5_text";
// Those, and what tests/engines/test_vllm_server.py runs in the engine itself
constexpr std::string_view kVllmModels =
    "llama qwen2 qwen3 mistral gemma3_text phi3 gemma2 glm glm4 granite olmo2 qwen2_5_vl_text smollm3 "
    "qwen2_5_vl qwen3_vl qwen3_vl_text qwen3_5 qwen3_5_text";
constexpr std::string_view kFixtures4 =
    "gemma3 gemma3_text glm gpt_neox gpt_oss llama mistral olmo3 phi3 qwen2 qwen2_5_vl qwen3 qwen3_vl qwen3_vl_text "
    "smollm3 stablelm";
constexpr std::string_view kFixtures5 =
    "gemma3 gemma3_text glm gpt_neox gpt_oss llama mistral olmo3 phi3 qwen2 qwen2_5_vl qwen3 qwen3_5 qwen3_5_text "
    "qwen3_vl qwen3_vl_text smollm3 stablelm";

// Models whose positions never exceed the number of tokens: vLLM makes no room for more (mrope_positions_factor).
constexpr std::string_view kPlainPositions =
    "qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text";

constexpr std::string_view kKeyError = "KeyError in ROPE_INIT_FUNCTIONS";

constexpr std::array<HfEngine, 15> kEngines = {{
    {
        .info = {.name = "transformers5",
                 .title = "transformers 5",
                 .versions = "5.22.2",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kFixtures5,
                 .reads_hf = true,
                 .source = "modeling_rope_utils.py"},
        .reader = Reader::transformers5,
        .types = kEvery,
        .unknown_type = kKeyError,
        .longrope = {.scale = ScaleSource::attention_factor},
        .yarn = {.truncate_nested = false},
        .needs_head_dim = "mixtral",
        .exceptions = kTransformers5Exceptions,
        .command = "python -c \"import sys, transformers as t; m = t.{class}.from_pretrained(sys.argv[1], "
                   "dtype='auto')\" {model}",
        .remark = "It does not stop at max_position_embeddings. Choose the dtype when loading: model.to(bfloat16) "
                  "rounds the table to 3e-3.",
    },
    {
        .info = {.name = "transformers4",
                 .title = "transformers 4",
                 .versions = "4.57.6",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kFixtures4,
                 .reads_hf = true,
                 .source = "modeling_rope_utils.py"},
        .reader = Reader::transformers4,
        .type_keys = TypeKeys::type_wins,
        .unknown_type = kKeyError,
        .longrope = {.original = Original::top_level, .scale = ScaleSource::attention_factor},
        .phi3 = Phi3Rule::three_fields,
        .needs_head_dim = kNoneHeadDim4,
        .exceptions = kTransformers4Exceptions,
        .command = "python -c \"import sys, transformers as t; m = t.{class}.from_pretrained(sys.argv[1], "
                   "torch_dtype='auto')\" {model}",
        .remark = "It does not stop at max_position_embeddings.",
    },
    {
        .info = {.name = "vllm",
                 .title = "vLLM",
                 .versions = "0.32.0",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kVllmModels,
                 .reads_hf = true,
                 .source = "layers/rotary_embedding/__init__.py"},
        .type_keys = TypeKeys::refused_if_different,
        .types = kEvery,
        .sectioned = kDefault | kYarn,
        .unknown_type = "ValueError: Unknown RoPE scaling type",
        .longrope = {.list = ListChoice::by_start, .scale = ScaleSource::mscales},
        .yarn = {.table_ends = true, .sections_times = 4, .sections_once = kPlainPositions},
        .dynamic = DynamicRule::plain,
        .length = {.multiplied = kLinear | kDynamic,
                   .multiplied_despite_original = true,
                   .never_multiplied = "gemma3 gemma3_text",
                   .longrope_original = true},
        .exceptions = kVllmExceptions,
        .command = "vllm serve {model} --max-model-len {context}",
        .remark =
            "The table is kept in the dtype of the model: bfloat16 rounds angles and scale by up to 0.5 %. Before "
            "0.11.1 longrope was chosen by batch.",
    },
    {
        .info = {.name = "sglang",
                 .title = "SGLang",
                 .versions = "0.5.23",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kShapesAndSections,
                 .reads_hf = true,
                 .source = "srt/layers/rotary_embedding/factory.py"},
        .types = kEvery,
        .sectioned = kDefault | kYarn,
        .unknown_type = "ValueError: Unknown RoPE scaling type",
        .longrope = {.scale = ScaleSource::mscales, .wrong_at_original = true},
        .yarn = {.attention_factor = false,
                 .attn_factor = true,
                 .mscales = MscalePair::if_both_given,
                 .table_ends = true,
                 .sections_mscales = false},
        .dynamic = DynamicRule::at_full_length,
        .length = {.multiplied = kLinear | kDynamic, .never_multiplied = "gemma3 gemma3_text"},
        .exceptions = kSglangExceptions,
        .command = "python -m sglang.launch_server --model-path {model} --context-length {context}",
        .remark = "The table is kept in the dtype of the model. --enable-fused-qk-norm-rope ignores it.",
    },
    {
        .info = {.name = "tensorrt-llm",
                 .title = "TensorRT-LLM",
                 .versions = "1.2",
                 .evidence = Evidence::read,
                 .reads_hf = true,
                 .source = "_torch/attention_backend/interface.py, RopeParams.from_config; functional.py"},
        .reader = Reader::transformers4,
        .type_keys = TypeKeys::type_wins,
        .unknown_type = "ValueError in RotaryScalingType.from_string",
        .longrope = {.original = Original::top_then_rope,
                     .list = ListChoice::phi3_by_start,
                     .scale = ScaleSource::formula},
        .yarn =
            {.attention_factor = false, .mscales = MscalePair::ratio, .truncate_key = false, .original_default = 1024},
        .exceptions = kTensorRtExceptions,
        .command = "trtllm-serve {model} --max_seq_len {context}",
        .remark = "The PyTorch backend.",
    },
    {
        .info = {.name = "mlx-lm",
                 .title = "mlx-lm",
                 .versions = "0.32.2",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kShapes,
                 .reads_hf = true,
                 .source = "models/rope_utils.py"},
        .reader = Reader::scaling,
        .either = "qwen3 qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text",
        .type_keys = TypeKeys::type_wins,
        .types = kEvery,
        .unknown_type = "ValueError: Unsupported RoPE type",
        .longrope = {.list = ListChoice::long_only, .scale = ScaleSource::formula},
        .yarn =
            {.attention_factor = false, .mscales = MscalePair::ratio, .truncate_key = false, .original_default = 4096},
        .phi3 = Phi3Rule::needs_type,
        .own_base = {"qwen2", 1e6},
        .exceptions = kMlxExceptions,
        .command = "mlx_lm.generate --model {model} --prompt \"$(cat long.txt)\"",
    },
    {
        .info = {.name = "exllamav3",
                 .title = "ExLlamaV3",
                 .versions = "1.6.5",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kShapes,
                 .reads_hf = true,
                 .source = "util/rope.py"},
        .reader = Reader::either,
        .types = kEvery & ~unsigned{kDynamic},
        .unknown_type = "ValueError: Unknown rope_type",
        .longrope = {.original = Original::rope_then_top, .list = ListChoice::by_file, .scale = ScaleSource::formula},
        .yarn = {.ratio_wins = true, .mscales = MscalePair::ignored, .warmth_replaces_scale = true},
        .mscale_pair = "deepseek_v3 kimi_k2",
        .exceptions = kExLlamaV3Exceptions,
        .remark = "Its table was run with the CUDA extension left out.",
    },
    {
        .info = {.name = "exllamav2",
                 .title = "ExLlamaV2",
                 .versions = "0.3.2",
                 .evidence = Evidence::read,
                 .reads_hf = true,
                 .source = "config.py:383, rope.py:12"},
        .reader = Reader::scaling,
        .type_keys = TypeKeys::refused,
        .longrope = {.original = Original::top_level_only,
                     .list = ListChoice::by_start,
                     .scale = ScaleSource::formula_by_start},
        .yarn = {.attention_factor = false,
                 .mscales = MscalePair::ignored,
                 .betas = false,
                 .truncate_key = false,
                 .band_by_start = true},
        .dynamic = DynamicRule::plain,
        .exceptions = kExLlamaV2Exceptions,
        .command = "python test_inference.py -m {model} -l {context}",
    },
    {
        .info = {.name = "onnxruntime-genai",
                 .title = "ONNX Runtime GenAI",
                 .versions = "0.18.0",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = "llama qwen2 qwen3 mistral",
                 .reads_hf = true,
                 .source = "models/builders/base.py, llama.py, phi.py"},
        .types = kClassic & ~unsigned{kDynamic},
        .unknown_type = "NotImplementedError",
        .longrope = {.scale = ScaleSource::mscales},
        .yarn = {.attention_factor = false,
                 .mscales = MscalePair::ignored,
                 .needs_betas = true,
                 .truncate_key = false,
                 .truncates = false},
        .phi3 = Phi3Rule::needs_type,
        .exceptions = kOnnxExceptions,
        .command = "python -m onnxruntime_genai.models.builder -i {model} -o out -p fp32 -e cpu",
        .remark = "Any table works by overwriting the initializers cos_cache and sin_cache of the built model.",
    },
    {
        .info = {.name = "openvino",
                 .title = "OpenVINO (optimum-intel)",
                 .versions = "2.2.0",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = "llama qwen3 gemma3_text",
                 .reads_hf = true,
                 .source = "exporters/openvino/model_patcher.py"},
        .reader = Reader::transformers4,
        .type_keys = TypeKeys::type_wins,
        .unknown_type = kKeyError,
        .longrope = {.original = Original::rope_then_top, .scale = ScaleSource::mscales_or_attention},
        .dynamic = DynamicRule::plain,
        .phi3 = Phi3Rule::three_fields,
        .needs_head_dim = kNoneHeadDim4,
        .trips_over_nested = true,
        .exceptions = kTransformers4Exceptions,
        .command = "optimum-cli export openvino --model {model} out",
        .remark = "optimum-intel 2.2.0 exports with transformers 4.57.6; the table is frozen then.",
    },
    {
        .info = {.name = "lmdeploy",
                 .title = "LMDeploy (PyTorch engine)",
                 .versions = "0.18.0",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = kShapes,
                 .reads_hf = true,
                 .source = "pytorch/nn/rotary_embedding.py"},
        .unknown_type = "KeyError in build_rotary_params",
        .longrope = {.scale = ScaleSource::formula},
        .exceptions = kLmdeployExceptions,
        .command = "lmdeploy serve api_server {model} --backend pytorch --session-len {context}",
        .remark = "The TurboMind engine has no longrope (RuntimeError), and takes M/L for the factor of yarn.",
    },
    {
        .info = {.name = "mistral.rs",
                 .title = "mistral.rs",
                 .versions = "0.9.5",
                 .evidence = Evidence::run,
                 .verified = kVerified,
                 .models = "llama",
                 .reads_hf = true,
                 .source = "mistralrs-core/src, at 0.9.2: layers.rs, models/*.rs"},
        .reader = Reader::scaling,
        .parameters = "lfm2 lfm2_moe mistral",
        .unknown_type = "ValueError: unknown variant",
        .longrope = {.original = Original::top_level, .scale = ScaleSource::formula},
        .yarn = {.attention_factor = false, .mscales = MscalePair::ratio},
        .phi3 = Phi3Rule::needs_type,
        .needs_type = "deepseek_v2 deepseek_v3",
        .needs_betas = "deepseek_v2 deepseek_v3 mistral",
        .needs_mscales = "deepseek_v2 deepseek_v3",
        .exceptions = kMistralRsExceptions,
        .command = "mistralrs-server plain -m {model}",
        .remark = "On Llama and SmolLM3 a tensor model.rope_freqs.weight of pair factors in a safetensors shard is "
                  "honoured, without attention scale.",
    },
    {
        .info = {.name = "candle",
                 .title = "candle",
                 .versions = "0.11",
                 .evidence = Evidence::read,
                 .reads_hf = true,
                 .source = "candle-transformers/src/models/{deepseek2,granite,llama,phi3,qwen3}.rs"},
        .reader = Reader::scaling,
        .unknown_type = "serde: unknown variant",
        .longrope = {.original = Original::top_level_only, .list = ListChoice::by_position, .scale = ScaleSource::none},
        .yarn = {.attention_factor = false, .mscales = MscalePair::ratio, .truncate_key = false},
        .phi3 = Phi3Rule::needs_type,
        .needs_type = "deepseek_v2",
        .needs_betas = "deepseek_v2",
        .needs_mscales = "deepseek_v2",
        .exceptions = kCandleExceptions,
    },
    {
        .info = {.name = "tgi",
                 .title = "Text Generation Inference",
                 .versions = "3.3.7",
                 .evidence = Evidence::read,
                 .reads_hf = true,
                 .source = "server/text_generation_server/layers/rotary.py:83"},
        .reader = Reader::transformers4,
        .unknown_type = "NotImplementedError",
        .longrope = {.original = Original::top_level_only,
                     .list = ListChoice::by_position,
                     .scale = ScaleSource::mscales_turn_the_angles},
        .yarn = {.attention_factor = false, .mscales = MscalePair::ratio, .betas = false, .truncate_key = false},
        .exceptions = kTgiExceptions,
        .command = "text-generation-launcher --model-id {model} --max-total-tokens {context}",
    },
    {
        .info = {.name = "mlc-llm",
                 .title = "MLC-LLM",
                 .versions = "2026-07",
                 .evidence = Evidence::read,
                 .reads_hf = true,
                 .source = "model/llama/llama_model.py, model/phi3/phi3_model.py"},
        .reader = Reader::scaling,
        .unknown_type = "AssertionError",
        .longrope = {.original = Original::top_level_only, .list = ListChoice::by_chunk, .scale = ScaleSource::formula},
        .phi3 = Phi3Rule::plain_without_type,
        .exceptions = kMlcExceptions,
    },
}};

}  // namespace

std::span<const HfEngine> hf_engines() { return kEngines; }

const HfEngine* find_hf_engine(std::string_view name) {
  for (const HfEngine& engine : kEngines) {
    if (engine.info.name == name) return &engine;
  }
  return nullptr;
}

bool names_model(std::string_view models, std::string_view model_type) {
  for (std::size_t at = 0; !model_type.empty() && (at = models.find(model_type, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + model_type.size();
    if ((at == 0 || models[at - 1] == ' ') && (end == models.size() || models[end] == ' ')) return true;
  }
  return false;
}

const HfException* exception_for(const HfEngine& engine, std::string_view model_type, unsigned type) {
  for (const HfException& row : engine.exceptions) {
    if ((row.types & type) != 0 && (row.models.empty() || names_model(row.models, model_type))) return &row;
  }
  return nullptr;
}

}  // namespace mrrope::targets

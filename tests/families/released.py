# SPDX-License-Identifier: MIT
"""The families of the table in docs/models.md: for each one an example, its config.json as released (the fields that say how it
rotates and how large it is), and the keys of its GGUF that do not follow from them.

`certain`: False where a value is from memory or from the documentation of a conversion and not from the released file.
What follows from the config (sizes, base, a scaling) is written into the GGUF by families.gguf_keys().
"""


def plain(architecture, model_type, layers, hidden, heads, kv_heads, context, **more):
    """The fields that every config.json has."""
    return {"architectures": [architecture], "model_type": model_type, "num_hidden_layers": layers, "hidden_size": hidden,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "max_position_embeddings": context, **more}  # fmt: skip


def nested(architecture, model_type, text, **more):
    """A model with other parts beside its text: those fields are in text_config."""
    return {"architectures": [architecture], "model_type": model_type, "text_config": text, **more}


def turns(layers, *kinds):
    """layer_types: the kinds take turns."""
    return [kinds[i % len(kinds)] for i in range(layers)]


FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"


def llama3(factor, low=1.0, high=4.0):
    return {"factor": factor, "low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": 8192, "rope_type": "llama3"}


def deepseek_yarn(factor, mscale, **more):
    return {"beta_fast": 32, "beta_slow": 1, "factor": factor, "mscale": mscale, "mscale_all_dim": mscale,
            "original_max_position_embeddings": 4096, "type": "yarn", **more}  # fmt: skip


PHI35_LONG = [
    1.0800000429153442, 1.1100000143051147, 1.1399999856948853, 1.340000033378601, 1.5899999141693115, 1.600000023841858,
    1.6200000047683716, 2.620000123977661, 3.2300000190734863, 3.2300000190734863, 4.789999961853027, 7.400000095367432,
    7.700000286102295, 9.09000015258789, 12.199999809265137, 17.670000076293945, 24.46000099182129, 28.57000160217285,
    30.420001983642578, 30.840002059936523, 32.590003967285156, 32.93000411987305, 42.320003509521484, 44.96000289916992,
    50.340003967285156, 50.45000457763672, 57.55000305175781, 57.93000411987305, 58.21000289916992, 60.1400032043457,
    62.61000442504883, 62.62000274658203, 62.71000289916992, 63.1400032043457, 63.1400032043457, 63.77000427246094,
    63.93000411987305, 63.96000289916992, 63.970001220703125, 64.02999877929688, 64.06999969482422, 64.08000183105469,
    64.12000274658203, 64.41000366210938, 64.4800033569336, 64.51000213623047, 64.52999877929688, 64.83999633789062,
]  # fmt: skip
PHI35_SHORT = [1.0, 1.02, 1.03, 1.03] + [1.05] * 5 + [1.07, 1.1, 1.11, 1.16, 1.16, 1.17, 1.29, 1.34, 1.68, 1.79, 1.82, 1.85,
               1.88, 1.91, 1.94, 1.99, 2.02, 2.02, 2.02, 2.02, 2.02, 2.02, 2.03, 2.03, 2.03, 2.03, 2.03, 2.03, 2.03, 2.03, 2.03,
               2.08, 2.09, 2.19, 2.22, 2.59, 2.73, 2.75, 2.84]  # fmt: skip
PHI4_MINI_LONG = [round(1.118320672**i, 9) for i in range(31)] + [
    32.03, 32.1, 32.13, 32.23, 32.6, 32.61, 32.64, 32.66, 32.7, 32.71, 32.93, 32.97, 33.28, 33.49, 33.5, 44.16, 47.77]
MINICPM3 = [
    1.0591234137867171, 1.1241891283591912, 1.2596935748670968, 1.5380380402321725, 2.093982484148734, 3.1446935121267696,
    4.937952647693647, 7.524541999994549, 10.475458000005451, 13.062047352306353, 14.85530648787323, 15.906017515851266,
    16.461961959767827, 16.740306425132907, 16.87581087164081, 16.940876586213285,
]  # fmt: skip
MINICPM4 = [
    0.9977997200264581, 1.014658295992452, 1.0349680404997148, 1.059429246056193, 1.0888815016813513, 1.1243301355211495,
    1.166977103606075, 1.2182568066927284, 1.2798772354275727, 1.3538666751582975, 1.4426259039919596, 1.5489853358570191,
    1.6762658237220625, 1.8283407612492941, 2.0096956085876183, 2.225478927469756, 2.481536379650452, 2.784415934557119,
    3.1413289096347365, 3.560047844772632, 4.048719380066383, 4.615569542115128, 5.2684819496549835, 6.014438591970396,
    6.858830049237097, 7.804668263503327, 8.851768731513417, 9.99600492938444, 11.228766118181639, 12.536757560834843,
    13.902257701387796, 15.303885189125953, 16.717837610115794, 18.119465097853947, 19.484965238406907, 20.792956681060105,
    22.02571786985731, 23.16995406772833, 24.217054535738416, 25.16289275000465, 26.007284207271347, 26.753240849586767,
    27.40615325712662, 27.973003419175363, 28.461674954469114, 28.880393889607006, 29.237306864684626, 29.540186419591297,
    29.79624387177199, 30.01202719065413, 30.193382037992453, 30.34545697551969, 30.47273746338473, 30.579096895249787,
    30.66785612408345, 30.741845563814174, 30.80346599254902, 30.85474569563567, 30.897392663720595, 30.932841297560394,
    30.962293553185553, 30.986754758742034, 31.007064503249293, 31.02392307921529,
]  # fmt: skip

LATENT = dict(q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
              first_k_dense_replace=3, n_shared_experts=1, num_experts_per_tok=8)  # fmt: skip
QWEN35_ROPE = {"mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25, "rope_theta": 10000000, "rope_type": "default"}
GEMMA4_ROPE = {FULL: {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"}, SLIDING: {"rope_theta": 10000.0, "rope_type": "default"}}
FALCON_MAMBA = dict(mamba_d_ssm=3072, mamba_n_heads=24, mamba_d_head=128, mamba_n_groups=1, mamba_d_state=256)

FAMILIES = [
    dict(
        name="Llama 2", model="Llama-2-7b-hf", gguf="llama",
        config=plain("LlamaForCausalLM", "llama", 32, 4096, 32, 32, 4096, intermediate_size=11008, rope_scaling=None, vocab_size=32000),
    ),
    dict(
        name="Llama 3", model="Meta-Llama-3-8B", gguf="llama",
        config=plain("LlamaForCausalLM", "llama", 32, 4096, 32, 8, 8192, intermediate_size=14336, rope_theta=500000.0, rope_scaling=None, vocab_size=128256),
    ),
    dict(
        name="Llama 3.1", model="Llama-3.1-8B", gguf="llama",
        config=plain("LlamaForCausalLM", "llama", 32, 4096, 32, 8, 131072, intermediate_size=14336, rope_theta=500000.0, rope_scaling=llama3(8.0), vocab_size=128256),
    ),
    dict(
        name="Llama 3.3", model="Llama-3.3-70B-Instruct", gguf="llama",
        config=plain("LlamaForCausalLM", "llama", 80, 8192, 64, 8, 131072, intermediate_size=28672, rope_theta=500000.0, rope_scaling=llama3(8.0), vocab_size=128256),
    ),
    dict(
        name="Llama 4", model="Llama-4-Scout-17B-16E", gguf="llama4", windows=True, keys={"interleave_moe_layer_step": 1, "expert_count": 16, "expert_used_count": 1},
        config=nested("Llama4ForConditionalGeneration", "llama4", plain(
            "Llama4ForCausalLM", "llama4_text", 48, 5120, 40, 8, 10485760, head_dim=128, intermediate_size=8192, intermediate_size_mlp=16384,
            attention_chunk_size=8192, no_rope_layers=[], num_local_experts=16, num_experts_per_tok=1, interleave_moe_layer_step=1,
            rope_theta=500000.0, rope_scaling=llama3(16.0, high=1.0), vocab_size=202048)),
    ),
    dict(
        name="Mistral 7B v0.1", model="Mistral-7B-v0.1", gguf="llama",
        config=plain("MistralForCausalLM", "mistral", 32, 4096, 32, 8, 32768, intermediate_size=14336, rope_theta=10000.0, sliding_window=4096, vocab_size=32000),
    ),
    dict(
        name="Mistral 7B v0.3", model="Mistral-7B-v0.3", gguf="llama",
        config=plain("MistralForCausalLM", "mistral", 32, 4096, 32, 8, 32768, intermediate_size=14336, rope_theta=1000000.0, sliding_window=None, vocab_size=32768),
    ),
    dict(
        name="Mistral Small 3", model="Mistral-Small-3.2-24B-Instruct-2506", gguf="mistral3",
        config=nested("Mistral3ForConditionalGeneration", "mistral3", plain(
            "MistralForCausalLM", "mistral", 40, 5120, 32, 8, 131072, head_dim=128, intermediate_size=32768, rope_theta=1000000000.0,
            sliding_window=None, vocab_size=131072)),
    ),
    dict(
        name="Ministral 3", model="Ministral-3-8B-Instruct-2512", gguf="mistral3",
        keys={"rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.1},
        config=nested("Mistral3ForConditionalGeneration", "mistral3", plain(
            "Ministral3ForCausalLM", "ministral3", 34, 4096, 32, 8, 262144, head_dim=128, intermediate_size=14336, sliding_window=None, vocab_size=131072,
            rope_parameters={"beta_fast": 32.0, "beta_slow": 1.0, "factor": 16.0, "llama_4_scaling_beta": 0.1, "mscale": 1.0, "mscale_all_dim": 1.0,
                             "original_max_position_embeddings": 16384, "rope_theta": 1000000.0, "rope_type": "yarn", "type": "yarn"})),
    ),
    dict(
        name="Mixtral", model="Mixtral-8x7B-v0.1", gguf="llama", keys={"expert_count": 8, "expert_used_count": 2},
        config=plain("MixtralForCausalLM", "mixtral", 32, 4096, 32, 8, 32768, intermediate_size=14336, num_local_experts=8, num_experts_per_tok=2,
                     rope_theta=1000000.0, sliding_window=None, vocab_size=32000),
    ),
    dict(
        name="Qwen 2.5", model="Qwen2.5-7B-Instruct", gguf="qwen2",
        config=plain("Qwen2ForCausalLM", "qwen2", 28, 3584, 28, 4, 32768, intermediate_size=18944, max_window_layers=28, rope_theta=1000000.0,
                     sliding_window=131072, use_sliding_window=False, vocab_size=152064),
    ),
    dict(
        name="Qwen 2.5 VL", model="Qwen2.5-VL-7B-Instruct", gguf="qwen2vl", keys={"rope.dimension_sections": [16, 24, 24, 0]},
        config=plain("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", 28, 3584, 28, 4, 128000, intermediate_size=18944, max_window_layers=28,
                     rope_theta=1000000.0, rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]}, sliding_window=32768, use_sliding_window=False,
                     vision_config={"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, "out_hidden_size": 3584}, vocab_size=152064),
    ),
    dict(
        name="Qwen 3", model="Qwen3-8B", gguf="qwen3",
        config=plain("Qwen3ForCausalLM", "qwen3", 36, 4096, 32, 8, 40960, head_dim=128, intermediate_size=12288, max_window_layers=36, rope_scaling=None,
                     rope_theta=1000000, sliding_window=None, use_sliding_window=False, vocab_size=151936),
    ),
    dict(
        name="Qwen 3 MoE", model="Qwen3-30B-A3B", gguf="qwen3moe", keys={"expert_count": 128, "expert_used_count": 8},
        config=plain("Qwen3MoeForCausalLM", "qwen3_moe", 48, 2048, 32, 4, 40960, head_dim=128, intermediate_size=6144, moe_intermediate_size=768,
                     num_experts=128, num_experts_per_tok=8, max_window_layers=48, rope_scaling=None, rope_theta=1000000.0, sliding_window=None,
                     use_sliding_window=False, vocab_size=151936),
    ),
    dict(
        name="Qwen 3 VL", model="Qwen3-VL-8B-Instruct", gguf="qwen3vl", keys={"rope.dimension_sections": [24, 20, 20, 0]},
        config=nested("Qwen3VLForConditionalGeneration", "qwen3_vl", plain(
            "Qwen3VLForCausalLM", "qwen3_vl_text", 36, 4096, 32, 8, 262144, head_dim=128, intermediate_size=12288, rope_theta=5000000,
            rope_scaling={"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}, vocab_size=151936),
            vision_config={"model_type": "qwen3_vl", "depth": 27, "hidden_size": 1152, "out_hidden_size": 4096}),
    ),
    dict(
        name="Qwen 3 Next", model="Qwen3-Next-80B-A3B-Instruct", gguf="qwen3next",
        keys={"full_attention_interval": 4, "expert_count": 512, "expert_used_count": 10, "ssm.conv_kernel": 4, "ssm.inner_size": 4096,
              "ssm.state_size": 128, "ssm.time_step_rank": 32, "ssm.group_count": 16},
        config=plain("Qwen3NextForCausalLM", "qwen3_next", 48, 2048, 16, 2, 262144, head_dim=256, intermediate_size=5120, full_attention_interval=4,
                     num_experts=512, num_experts_per_tok=10, partial_rotary_factor=0.25, rope_scaling=None, rope_theta=10000000, vocab_size=151936),
    ),
    dict(
        name="Qwen 3.5", model="Qwen3.5-27B", gguf="qwen35", certain=False,
        keys={"rope.dimension_sections": [11, 11, 10, 0], "full_attention_interval": 4, "ssm.conv_kernel": 4, "ssm.inner_size": 6144,
              "ssm.state_size": 128, "ssm.time_step_rank": 48, "ssm.group_count": 16},
        config=nested("Qwen3_5ForConditionalGeneration", "qwen3_5", plain(
            "Qwen3_5ForCausalLM", "qwen3_5_text", 64, 5120, 24, 4, 262144, head_dim=256, intermediate_size=17408, full_attention_interval=4,
            layer_types=turns(64, LINEAR, LINEAR, LINEAR, FULL), rope_parameters=QWEN35_ROPE, vocab_size=248320),
            vision_config={"model_type": "qwen3_5", "depth": 27, "hidden_size": 1152, "out_hidden_size": 5120}),
    ),
    dict(
        name="Qwen 3.6", model="Qwen3.6-35B-A3B", gguf="qwen35moe", certain=False,
        keys={"rope.dimension_sections": [11, 11, 10, 0], "full_attention_interval": 4, "expert_count": 256, "expert_used_count": 8,
              "ssm.conv_kernel": 4, "ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.time_step_rank": 32, "ssm.group_count": 16},
        config=nested("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", plain(
            "Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", 40, 2048, 16, 2, 262144, head_dim=256, moe_intermediate_size=512, num_experts=256,
            num_experts_per_tok=8, full_attention_interval=4, layer_types=turns(40, LINEAR, LINEAR, LINEAR, FULL), rope_parameters=QWEN35_ROPE,
            vocab_size=248320), vision_config={"model_type": "qwen3_5_moe", "depth": 27, "hidden_size": 1152, "out_hidden_size": 2048}),
    ),
    dict(
        name="Gemma 2", model="gemma-2-9b", gguf="gemma2", tied=True,
        config=plain("Gemma2ForCausalLM", "gemma2", 42, 3584, 16, 8, 8192, head_dim=256, intermediate_size=14336, query_pre_attn_scalar=256,
                     rope_theta=10000.0, sliding_window=4096, vocab_size=256000),
    ),
    dict(
        name="Gemma 3", model="gemma-3-4b-it", gguf="gemma3", tied=True,
        # The released file leaves heads, length and bases to the defaults of the class
        config=nested("Gemma3ForConditionalGeneration", "gemma3", {
            "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
            vision_config={"hidden_size": 1152, "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_hidden_layers": 27}),
        keys={"context_length": 131072, "attention.head_count": 8, "attention.head_count_kv": 4, "attention.key_length": 256,
              "attention.value_length": 256, "rope.freq_base": 1e6, "rope.dimension_count": 256},
    ),
    dict(
        name="Gemma 3n", model="gemma-3n-E4B-it", gguf="gemma3n", tied=True,
        config=nested("Gemma3nForConditionalGeneration", "gemma3n", plain(
            "Gemma3nForCausalLM", "gemma3n_text", 35, 2048, 8, 2, 32768, head_dim=256, intermediate_size=[16384] * 35, num_kv_shared_layers=15,
            layer_types=turns(35, SLIDING, SLIDING, SLIDING, SLIDING, FULL), rope_theta=1000000.0, rope_local_base_freq=10000.0, rope_scaling=None,
            sliding_window=512, vocab_size=262400)),
        keys={"attention.sliding_window_pattern": turns(35, 1, 1, 1, 1, 0), "feed_forward_length": 16384, "rope.freq_base_swa": 1e4},
    ),
    dict(
        name="Gemma 4", model="gemma-4-E2B-it", gguf="gemma4", tied=True, certain=False,
        config=nested("Gemma4ForConditionalGeneration", "gemma4", plain(
            "Gemma4ForCausalLM", "gemma4_text", 35, 1536, 8, 1, 131072, head_dim=256, global_head_dim=512, intermediate_size=6144, num_kv_shared_layers=20,
            layer_types=turns(35, SLIDING, SLIDING, SLIDING, SLIDING, FULL), rope_parameters=GEMMA4_ROPE, sliding_window=512, vocab_size=262144)),
        keys={"attention.sliding_window_pattern": turns(35, 1, 1, 1, 1, 0), "attention.key_length": 512, "attention.value_length": 512,
              "attention.key_length_swa": 256, "attention.value_length_swa": 256, "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4,
              "rope.dimension_count": 512, "rope.dimension_count_swa": 256, "embedding_length_per_layer_input": 256},
        tensors={"rope_freqs.weight": [1.0] * 64 + [1e30] * 192},
    ),
    dict(
        name="Phi 3.5", model="Phi-3.5-mini-instruct", gguf="phi3", certain=False,
        config=plain("Phi3ForCausalLM", "phi3", 32, 3072, 32, 32, 131072, intermediate_size=8192, original_max_position_embeddings=4096,
                     rope_scaling={"long_factor": PHI35_LONG, "short_factor": PHI35_SHORT, "type": "longrope"}, rope_theta=10000.0,
                     sliding_window=262144, vocab_size=32064),
    ),
    dict(
        name="Phi 4", model="phi-4", gguf="phi3",
        config=plain("Phi3ForCausalLM", "phi3", 40, 5120, 40, 10, 16384, intermediate_size=17920, original_max_position_embeddings=16384,
                     rope_scaling=None, rope_theta=250000, sliding_window=None, vocab_size=100352),
    ),
    dict(
        name="Phi 4 mini", model="Phi-4-mini-instruct", gguf="phi3", certain=False, tied=True,
        config=plain("Phi3ForCausalLM", "phi3", 32, 3072, 24, 8, 131072, intermediate_size=8192, original_max_position_embeddings=4096,
                     partial_rotary_factor=0.75, rope_scaling={"long_factor": PHI4_MINI_LONG, "short_factor": [1.0] * 48, "type": "longrope"},
                     rope_theta=10000.0, sliding_window=262144, vocab_size=200064),
    ),
    dict(
        name="gpt-oss", model="gpt-oss-20b", gguf="gpt-oss", keys={"expert_count": 32, "expert_used_count": 4},
        config=plain("GptOssForCausalLM", "gpt_oss", 24, 2880, 64, 8, 131072, head_dim=64, initial_context_length=4096, intermediate_size=2880,
                     layer_types=turns(24, SLIDING, FULL), num_local_experts=32, num_experts_per_tok=4, rope_theta=150000, sliding_window=128,
                     rope_scaling={"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096, "rope_type": "yarn",
                                   "truncate": False}, vocab_size=201088),
    ),
    dict(
        name="DeepSeek V2", model="DeepSeek-V2-Lite", gguf="deepseek2", keys={"rope.scaling.yarn_log_multiplier": 0.0707, "expert_count": 64, "expert_used_count": 6},
        config=plain("DeepseekV2ForCausalLM", "deepseek_v2", 27, 2048, 16, 16, 163840, intermediate_size=10944, **{**LATENT, "q_lora_rank": None},
                     n_routed_experts=64, moe_intermediate_size=1408, rope_scaling=deepseek_yarn(40, 0.707), rope_theta=10000, vocab_size=102400),
    ),
    dict(
        name="DeepSeek V3, R1", model="DeepSeek-V3-0324", gguf="deepseek2", keys={"rope.scaling.yarn_log_multiplier": 0.1, "expert_count": 256, "expert_used_count": 8},
        config=plain("DeepseekV3ForCausalLM", "deepseek_v3", 61, 7168, 128, 128, 163840, intermediate_size=18432, **LATENT, n_routed_experts=256,
                     moe_intermediate_size=2048, rope_scaling=deepseek_yarn(40, 1.0), rope_theta=10000, vocab_size=129280),
    ),
    dict(
        name="DeepSeek V3.2", model="DeepSeek-V3.2-Exp", gguf="deepseek32",
        keys={"rope.scaling.yarn_log_multiplier": 0.1, "expert_count": 256, "expert_used_count": 8, "attention.indexer.head_count": 64,
              "attention.indexer.key_length": 128, "attention.indexer.top_k": 2048},
        config=plain("DeepseekV32ForCausalLM", "deepseek_v32", 61, 7168, 128, 128, 163840, intermediate_size=18432, **LATENT, n_routed_experts=256,
                     moe_intermediate_size=2048, index_head_dim=128, index_n_heads=64, index_topk=2048, rope_scaling=deepseek_yarn(40, 1.0),
                     rope_theta=10000, vocab_size=129280),
    ),
    dict(
        name="Kimi K2", model="Kimi-K2-Instruct", gguf="deepseek2", keys={"rope.scaling.yarn_log_multiplier": 0.1, "expert_count": 384, "expert_used_count": 8},
        config=plain("DeepseekV3ForCausalLM", "kimi_k2", 61, 7168, 64, 64, 131072, intermediate_size=18432, **{**LATENT, "first_k_dense_replace": 1},
                     n_routed_experts=384, moe_intermediate_size=2048, rope_scaling=deepseek_yarn(32.0, 1.0, beta_fast=1.0, beta_slow=1.0),
                     rope_theta=50000.0, vocab_size=163840),
    ),
    dict(
        name="GLM 4", model="GLM-4-9B-0414", gguf="glm4",
        config=plain("Glm4ForCausalLM", "glm4", 40, 4096, 32, 2, 32768, head_dim=128, intermediate_size=13696, partial_rotary_factor=0.5,
                     rope_theta=10000.0, vocab_size=151552),
    ),
    dict(
        name="GLM 4.5", model="GLM-4.5-Air", gguf="glm4moe", keys={"expert_count": 128, "expert_used_count": 8},
        config=plain("Glm4MoeForCausalLM", "glm4_moe", 46, 4096, 96, 8, 131072, head_dim=128, intermediate_size=10944, moe_intermediate_size=1408,
                     n_routed_experts=128, num_experts_per_tok=8, partial_rotary_factor=0.5, rope_scaling=None, rope_theta=1000000, vocab_size=151552),
    ),
    dict(
        name="SmolLM2", model="SmolLM2-1.7B-Instruct", gguf="llama", tied=True,
        config=plain("LlamaForCausalLM", "llama", 24, 2048, 32, 32, 8192, intermediate_size=8192, rope_scaling=None, rope_theta=130000, vocab_size=49152),
    ),
    dict(
        name="SmolLM3", model="SmolLM3-3B", gguf="smollm3", tied=True,
        config=plain("SmolLM3ForCausalLM", "smollm3", 36, 2048, 16, 4, 65536, intermediate_size=11008, layer_types=[FULL] * 36, max_window_layers=28,
                     no_rope_layer_interval=4, no_rope_layers=turns(36, 1, 1, 1, 0), rope_scaling=None, rope_theta=5000000.0, sliding_window=None,
                     use_sliding_window=False, vocab_size=128256),
    ),
    dict(
        name="OLMo 2", model="OLMo-2-1124-7B", gguf="olmo2",
        config=plain("Olmo2ForCausalLM", "olmo2", 32, 4096, 32, 32, 4096, intermediate_size=11008, rope_scaling=None, rope_theta=500000, vocab_size=100352),
    ),
    dict(
        name="OLMo 3", model="Olmo-3-1025-7B", gguf="olmo2", keys={"attention.sliding_window_pattern": turns(32, 1, 1, 1, 0)},
        config=plain("Olmo3ForCausalLM", "olmo3", 32, 4096, 32, 32, 65536, intermediate_size=11008, layer_types=turns(32, SLIDING, SLIDING, SLIDING, FULL),
                     rope_scaling={"attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0,
                                   "original_max_position_embeddings": 8192, "rope_type": "yarn"}, rope_theta=500000, sliding_window=4096, vocab_size=100278),
    ),
    dict(
        name="Granite 3", model="granite-3.3-8b-instruct", gguf="granite", tied=True, keys={"logit_scale": 16.0},
        config=plain("GraniteForCausalLM", "granite", 40, 4096, 32, 8, 131072, intermediate_size=12800, rope_scaling=None, rope_theta=10000000.0, vocab_size=49159),
    ),
    dict(
        name="Granite 4", model="granite-4.0-micro", gguf="granite", tied=True, certain=False,
        keys={"logit_scale": 10.0, "rope.scaling.finetuned": True},
        config=plain("GraniteMoeHybridForCausalLM", "granitemoehybrid", 40, 2560, 40, 8, 131072, intermediate_size=8192, layer_types=["attention"] * 40,
                     num_local_experts=0, position_embedding_type="rope", rope_scaling=None, rope_theta=10000000, vocab_size=100352),
    ),
    dict(
        name="Granite 4 H", model="granite-4.0-h-tiny", gguf="granitehybrid", tied=True, certain=False, rotates=False,
        # Four layers of attention among Mamba, and none of them rotates
        keys={"logit_scale": 6.0, "rope.scaling.finetuned": False, "context_length": 2**20, "attention.head_count_kv": [4 if i in (5, 15, 25, 35) else 0 for i in range(40)],
              "ssm.conv_kernel": 4, "ssm.inner_size": 3072, "ssm.state_size": 128, "ssm.time_step_rank": 48, "ssm.group_count": 1},
        config=plain("GraniteMoeHybridForCausalLM", "granitemoehybrid", 40, 1536, 12, 4, 131072, intermediate_size=512, num_local_experts=64,
                     layer_types=["attention" if i in (5, 15, 25, 35) else "mamba" for i in range(40)], position_embedding_type="nope",
                     rope_scaling=None, rope_theta=10000, vocab_size=100352),
    ),
    dict(
        name="Falcon H1", model="Falcon-H1-7B-Instruct", gguf="falcon-h1",
        keys={"ssm.conv_kernel": 4, "ssm.inner_size": 3072, "ssm.state_size": 256, "ssm.time_step_rank": 24, "ssm.group_count": 1},
        config=plain("FalconH1ForCausalLM", "falcon_h1", 44, 3072, 12, 2, 262144, head_dim=128, intermediate_size=12288, **FALCON_MAMBA,
                     rope_scaling=None, rope_theta=100000000000.0, vocab_size=130048),
    ),
    dict(
        name="LFM2", model="LFM2-1.2B", gguf="lfm2", tied=True,
        keys={"shortconv.l_cache": 3, "attention.head_count_kv": [8 if i in (2, 5, 8, 10, 12, 14) else 0 for i in range(16)]},
        config=plain("Lfm2ForCausalLM", "lfm2", 16, 2048, 32, 8, 128000, intermediate_size=12288, conv_L_cache=3,
                     layer_types=[FULL if i in (2, 5, 8, 10, 12, 14) else "conv" for i in range(16)], rope_theta=1000000.0, vocab_size=65536),
    ),
    dict(
        name="MiniCPM 3", model="MiniCPM3-4B", gguf="minicpm3",
        keys={"attention.q_lora_rank": 768, "attention.kv_lora_rank": 256, "attention.key_length": 96, "attention.value_length": 64,
              "rope.dimension_count": 32},
        config=plain("MiniCPM3ForCausalLM", "minicpm3", 62, 2560, 40, 40, 32768, intermediate_size=6400, q_lora_rank=768, kv_lora_rank=256,
                     qk_nope_head_dim=64, qk_rope_head_dim=32, rope_scaling={"type": "longrope", "long_factor": MINICPM3, "short_factor": MINICPM3,
                                                                            "original_max_position_embeddings": 32768}, vocab_size=73448),
    ),
    dict(
        name="MiniCPM 4", model="MiniCPM4-8B", gguf="minicpm", keys={"embedding_scale": 12.0, "residual_scale": 0.2475, "logit_scale": 0.0625},
        config=plain("MiniCPMForCausalLM", "minicpm", 32, 4096, 32, 2, 32768, intermediate_size=16384, rope_scaling={
            "rope_type": "longrope", "long_factor": MINICPM4, "short_factor": MINICPM4, "original_max_position_embeddings": 32768}, vocab_size=73448),
    ),
    dict(
        name="Command R", model="c4ai-command-r-08-2024", gguf="command-r", tied=True, keys={"logit_scale": 0.0625, "rope.scaling.type": "none"},
        config=plain("CohereForCausalLM", "cohere", 40, 8192, 64, 8, 131072, intermediate_size=24576, logit_scale=0.0625, rope_theta=4000000.0, vocab_size=256000),
    ),
    dict(
        name="Command A", model="c4ai-command-a-03-2025", gguf="cohere2", tied=True, windows=True, keys={"logit_scale": 0.25, "rope.scaling.type": "none"},
        config=plain("Cohere2ForCausalLM", "cohere2", 64, 12288, 96, 8, 131072, head_dim=128, intermediate_size=36864, logit_scale=0.25, rope_scaling=None,
                     layer_types=turns(64, SLIDING, SLIDING, SLIDING, FULL), rope_theta=50000.0, sliding_window=4096, vocab_size=256000),
    ),
    dict(
        name="EXAONE 4", model="EXAONE-4.0-32B", gguf="exaone4", windows=True, keys={"attention.sliding_window_pattern": turns(64, 1, 1, 1, 0)},
        config=plain("Exaone4ForCausalLM", "exaone4", 64, 5120, 40, 8, 131072, head_dim=128, intermediate_size=27392,
                     layer_types=turns(64, SLIDING, SLIDING, SLIDING, FULL), rope_scaling=llama3(16.0), rope_theta=1000000, sliding_window=4096,
                     sliding_window_pattern="LLLG", vocab_size=102400),
    ),
    dict(
        name="Hunyuan", model="Hunyuan-7B-Instruct", gguf="hunyuan-dense",
        # The conversion writes alpha into the base, 10000 * 1000^(128/126), and the length that this reaches
        keys={"rope.freq_base": 11158839.925, "context_length": 262144, "rope.scaling.type": "none", "rope.scaling.factor": 1.0,
              "rope.scaling.original_context_length": 262144},
        config=plain("HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", 32, 4096, 32, 8, 32768, head_dim=128, intermediate_size=14336, rope_scaling={
            "alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "type": "dynamic"},
            rope_theta=10000.0, vocab_size=128167),
    ),
    dict(
        name="ERNIE 4.5", model="ERNIE-4.5-21B-A3B-PT", gguf="ernie4_5-moe", tied=True,
        keys={"expert_count": 64, "expert_used_count": 6, "interleave_moe_layer_step": 1},
        config=plain("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", 28, 2560, 20, 4, 131072, intermediate_size=12288, moe_intermediate_size=1536,
                     moe_num_experts=64, rope_scaling=None, rope_theta=500000.0, vocab_size=103424),
    ),
    dict(
        name="InternLM 3", model="internlm3-8b-instruct", gguf="llama",
        config=plain("InternLM3ForCausalLM", "internlm3", 48, 4096, 32, 2, 32768, head_dim=128, intermediate_size=10240, rope_scaling={
            "factor": 6.0, "rope_type": "dynamic"}, rope_theta=50000000, vocab_size=128512),
    ),
    dict(
        name="Yi", model="Yi-1.5-9B-Chat", gguf="llama",
        config=plain("LlamaForCausalLM", "llama", 48, 4096, 32, 4, 4096, intermediate_size=11008, rope_scaling=None, rope_theta=5000000.0, vocab_size=64000),
    ),
    dict(
        name="StableLM 2", model="stablelm-2-1_6b", gguf="stablelm",
        config=plain("StableLmForCausalLM", "stablelm", 24, 2048, 32, 32, 4096, intermediate_size=5632, partial_rotary_factor=0.25, rope_theta=10000, vocab_size=100352),
    ),
    dict(
        name="GPT-NeoX, Pythia", model="gpt-neox-20b", gguf="gptneox", keys={"use_parallel_residual": True, "rope.dimension_count": 24, "rope.freq_base": 10000.0},
        config={"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "num_hidden_layers": 44, "hidden_size": 6144, "intermediate_size": 24576,
                "num_attention_heads": 64, "max_position_embeddings": 2048, "rotary_emb_base": 10000, "rotary_pct": 0.25, "vocab_size": 50432},
    ),
]  # fmt: skip

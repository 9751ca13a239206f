# SPDX-License-Identifier: MIT
"""Writes tiny random GGUF models, one for each architecture that llama.cpp v0.5.0 rotates.

    $(tools/engine_env gguf) tools/make_tiny_models.py OUT_DIR [--arch llama,qwen3,...] [--list]

Mostly two to eight layers and half a megabyte, heads of 64, a byte tokenizer: enough for llama.cpp to load the file and
run the real graph of the architecture, nonsense as language. Deterministic: a tensor depends on its name and shape
only, so equal tensors of different architectures are equal, and a relabelled file may be compared with the original.

The table was written from src/models/*.cpp of llama.cpp: what load_arch_tensors requires, not all it would accept.
"""
import argparse
import hashlib
import math
import pathlib
import re

import gguf
import numpy as np

# ---- sizes and shapes, in ggml's order (the dimension that is summed over first) ------------------------------------

SIZES = {
    "E": 128,  # embedding
    "H": 2,  # heads
    "N": 1,  # key-value heads
    "D": 64,  # head
    "F": 96,  # feed forward
    "V": 512,  # vocabulary
    "X": 4,  # experts, two of them used
    "G": 32,  # feed forward of an expert
    "R": 32,  # low rank of latent attention
    "S": 64,  # state of a recurrent layer: S per group, 2 heads of S
}

SHAPES = {
    "token_embd": "E,V", "output": "E,V", "output_norm": "E", "token_embd_norm": "E",
    "attn_norm": "E", "attn_norm_2": "E", "attn_output_norm": "E", "layer_output_norm": "E", "post_attention_norm": "E",
    "ffn_norm": "E", "ffn_norm_exps": "E", "post_ffw_norm": "E", "attn_sub_norm": "E", "ffn_sub_norm": "F",
    "attn_q": "E,H*D", "attn_k": "E,N*D", "attn_v": "E,N*D", "attn_qkv": "E,(H+2*N)*D", "attn_output": "H*D,E",
    "attn_q_norm": "D", "attn_k_norm": "D", "attn_sinks": "H", "attn_gate": "E,H*D",
    "ffn_gate": "E,F", "ffn_up": "E,F", "ffn_down": "F,E",
    "ffn_gate_inp": "E,X", "ffn_gate_exps": "E,G,X", "ffn_up_exps": "E,G,X", "ffn_down_exps": "G,E,X",
    "ffn_gate_shexp": "E,G", "ffn_up_shexp": "E,G", "ffn_down_shexp": "G,E", "ffn_gate_inp_shexp": "E",
    "exp_probs_b": "X",
    # Latent attention: keys of D rotated and D plain dimensions, values of D.
    "attn_q_a": "E,R", "attn_q_a_norm": "R", "attn_q_b": "R,H*2*D", "attn_kv_a_mqa": "E,R+D", "attn_kv_a_norm": "R",
    "attn_k_b": "D,R,H", "attn_v_b": "R,D,H", "attn_kv_b": "R,H*2*D",
    # Recurrent layers: gated delta net, mamba 2, short convolution.
    "ssm_conv1d": "4,4*S", "ssm_a": "2", "ssm_d": "1,2", "ssm_dt": "2", "ssm_ba": "E,4", "ssm_alpha": "E,2",
    "ssm_beta": "E,2", "ssm_norm": "S", "ssm_out": "2*S,E", "ssm_in": "E,6*S+2",
    "shortconv.conv": "3,E", "shortconv.in_proj": "E,3*E", "shortconv.out_proj": "E,E",
    # Sparse attention.
    "indexer.k_norm": "D", "indexer.proj": "E,H", "indexer.attn_k": "E,D", "indexer.attn_q_b": "R,H*D",
}

GROUPS = {
    "qkv": "attn_q attn_k attn_v",
    "qk_norm": "attn_q_norm attn_k_norm",
    "swiglu": "ffn_gate ffn_up ffn_down",
    "mlp": "ffn_up ffn_down",
    "moe": "ffn_gate_inp ffn_gate_exps ffn_up_exps ffn_down_exps",
    "shared": "ffn_gate_shexp ffn_up_shexp ffn_down_shexp",
    "latent": "attn_q_a attn_q_a_norm attn_q_b attn_kv_a_mqa attn_kv_a_norm attn_k_b attn_v_b attn_output",
    "indexer": "indexer.k_norm+b indexer.proj indexer.attn_k indexer.attn_q_b",
    "delta_net": "attn_qkv:E,4*S attn_gate:E,2*S ssm_conv1d ssm_dt.bias ssm_a! ssm_norm ssm_out",
    "mamba2": "ssm_in ssm_conv1d+b ssm_dt.bias ssm_a!:1,2 ssm_d! ssm_norm:2*S,1 ssm_out",
}

# ---- architectures --------------------------------------------------------------------------------------------------
# A block is a list of tensors: `name` (blk.N.name.weight), `name+b` (and its bias), `name.bias`, `name!` (no suffix),
# each with `:shape` if it is not the one above, or a group of them. Several blocks: they take turns over the layers.

LLAMA = "attn_norm qkv attn_output ffn_norm swiglu"
QWEN2 = "attn_norm qkv+b attn_output ffn_norm swiglu"
QWEN3 = "attn_norm qkv qk_norm attn_output ffn_norm swiglu"
QWEN3MOE = "attn_norm qkv qk_norm attn_output ffn_norm moe"
LLAMA_MOE = "attn_norm qkv attn_output ffn_norm moe"
GEMMA2 = "attn_norm qkv attn_output post_attention_norm ffn_norm swiglu post_ffw_norm"
GEMMA3 = "attn_norm qkv qk_norm attn_output post_attention_norm ffn_norm swiglu post_ffw_norm"
OLMO2 = "qkv {} attn_output post_attention_norm swiglu post_ffw_norm"
GPT = "attn_norm+b qkv+b attn_output+b ffn_norm+b mlp+b"
# Hyper-connections: 4 parallel residual streams.
HYPER = "output_hc_fn:4*E,4 output_hc_base:4 output_hc_scale:1"
DEEPSEEK4 = ("attn_norm attn_sinks attn_q_a attn_q_a_norm attn_q_b:R,H*D attn_kv:E,D attn_kv_a_norm:D "
             "attn_output_a:D,R,2 attn_output_b:2*R,E hc_attn_fn:4*E,24 hc_attn_base:24 hc_attn_scale:3 "
             "hc_ffn_fn:4*E,24 hc_ffn_base:24 hc_ffn_scale:3 ffn_norm moe exp_probs_b.bias shared")
LOW_RANK = ("hc_attn_norm:E,2 hc_attn_down:2*E,8 hc_attn_up:8,2*E hc_attn_inject:2*E,2 "
            "hc_ffn_norm:E,2 hc_ffn_down:2*E,8 hc_ffn_up:8,2*E hc_ffn_inject:2*E,2 ")
TIED = "output_norm"
BIASED = "output_norm+b output"
SECTIONS = {"rope.dimension_sections": [8, 12, 12, 0]}
SIGMOID = {"expert_gating_func": 2}
WINDOW = {"attention.sliding_window": 32}
SSM = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 64, "ssm.time_step_rank": 2, "ssm.group_count": 1}
MLA = {"attention.q_lora_rank": 32, "attention.kv_lora_rank": 32, "attention.key_length": 96,
       "attention.value_length": 32, "attention.key_length_mla": 128, "attention.value_length_mla": 64}
INDEXER = {"attention.indexer.head_count": 2, "attention.indexer.key_length": 64, "attention.indexer.top_k": 131072}


def model(*blocks, head="output_norm output", layers=2, keys=(), arch=None, extra="", **sizes):
    """One row of the table. `head`: tensors outside the blocks besides token_embd; `extra`: those with a value of their
    own (see `special`); `arch`: if the row is not named after it."""
    return {"blocks": blocks, "head": head, "layers": layers, "keys": dict(keys), "arch": arch, "extra": extra,
            "sizes": {**SIZES, **sizes}}


def pattern(*layers):
    return {"attention.sliding_window_pattern": list(layers)}


MODELS = {
    "llama": model(LLAMA),
    "llama-tied": model(LLAMA, head=TIED, arch="llama"),
    "llama-rope-freqs": model(LLAMA, arch="llama", extra="rope_freqs",
                              keys={"context_length": 131072, "rope.freq_base": 5e5}),
    "llama-q8_0": model(LLAMA, arch="llama"),
    "llama-split": model(LLAMA, arch="llama"),
    "mixtral": model(LLAMA_MOE, arch="llama", F=32),
    "deci": model(LLAMA),
    "mistral3": model(LLAMA),
    "qwen": model("attn_norm attn_qkv+b attn_output ffn_norm swiglu", N=2, keys={"feed_forward_length": 192}),
    "qwen2": model(QWEN2, head=TIED),
    "qwen2moe": model("attn_norm qkv+b attn_output ffn_norm moe ffn_gate_inp_shexp shared"),
    "qwen2vl": model(QWEN2, keys=SECTIONS),
    "qwen3": model(QWEN3, head=TIED),
    "qwen3-untied": model(QWEN3, arch="qwen3"),
    "qwen3moe": model(QWEN3MOE),
    "qwen3vl": model(QWEN3, keys=SECTIONS),
    "qwen3vlmoe": model(QWEN3MOE, keys=SECTIONS),
    "qwen3next": model("attn_norm post_attention_norm delta_net ssm_ba moe ffn_gate_inp_shexp shared",
                       "attn_norm post_attention_norm attn_q:E,2*H*D attn_k attn_v qk_norm attn_output moe "
                       "ffn_gate_inp_shexp shared", keys=SSM | {"full_attention_interval": 2}),
    "qwen35": model("attn_norm post_attention_norm delta_net ssm_alpha ssm_beta swiglu",
                    "attn_norm post_attention_norm attn_q:E,2*H*D attn_k attn_v qk_norm attn_output swiglu",
                    keys=SSM | SECTIONS | {"full_attention_interval": 2}),
    "qwen35moe": model("attn_norm post_attention_norm delta_net ssm_alpha ssm_beta moe ffn_gate_inp_shexp shared",
                       "attn_norm post_attention_norm attn_q:E,2*H*D attn_k attn_v qk_norm attn_output moe "
                       "ffn_gate_inp_shexp shared", keys=SSM | SECTIONS | {"full_attention_interval": 2}),
    "gemma": model(LLAMA, head=TIED),
    "gemma2": model(GEMMA2, head=TIED, keys=WINDOW),
    "gemma3": model(GEMMA3, head=TIED, layers=6, keys=WINDOW | {"rope.freq_base": 1e6}),
    "gemma3n": model(GEMMA3 + " inp_gate:E,256 proj:256,E post_norm:E altup_correct_coef:4,4 altup_correct_scale:E "
                     "altup_predict_coef:4,16 altup_router:E,4 altup_router_norm:E laurel_l:E,64 laurel_r:64,E "
                     "laurel_post_norm:E", layers=22, E=64, H=1, F=32, V=288, keys=WINDOW | {"rope.freq_base": 1e6},
                     head=TIED + " altup_proj:E,E,3 altup_unembd_proj:E,E,3 per_layer_token_embd:256*22,V "
                     "per_layer_model_proj:E,256*22 per_layer_proj_norm:256"),
    "gemma4": model(GEMMA3, head=TIED, layers=5, extra="rope_freqs", keys=WINDOW | pattern(1, 1, 1, 1, 0) | {
        "embedding_length_per_layer_input": 0, "attention.key_length_swa": 64, "attention.value_length_swa": 64,
        "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4}),
    "phi2": model("attn_norm+b qkv+b attn_output+b mlp+b", head="output_norm+b output+b", N=2,
                  keys={"rope.dimension_count": 32}),
    "phi3": model("attn_norm attn_qkv attn_output ffn_norm ffn_up:E,2*F ffn_down"),
    "phi3-longrope": model("attn_norm attn_qkv attn_output ffn_norm ffn_up:E,2*F ffn_down", arch="phi3",
                           extra="rope_factors_long rope_factors_short",
                           keys={"context_length": 131072, "rope.scaling.type": "longrope",
                                 "rope.scaling.original_context_length": 4096, "rope.scaling.attn_factor": 1.190238}),
    "phimoe": model("attn_norm+b qkv+b attn_output+b ffn_norm+b moe", head="output_norm+b output+b", F=32),
    "exaone": model(LLAMA),
    "exaone4": model(OLMO2.format("qk_norm")),
    # 64 layers: what tells the 32B, in which every fourth layer does not rotate.
    "exaone4-swa": model(OLMO2.format("qk_norm"), arch="exaone4", layers=64, E=64, H=1, F=32, keys=WINDOW),
    "exaone-moe": model("attn_norm qkv qk_norm attn_output ffn_norm moe shared", layers=4,
                        keys=WINDOW | SIGMOID),
    "granite": model(LLAMA, keys={"logit_scale": 8.0}),
    "granitemoe": model(LLAMA_MOE, F=32, keys={"logit_scale": 8.0}),
    "granitehybrid": model("attn_norm mamba2 ffn_norm swiglu", LLAMA, E=64, H=1,
                           keys=SSM | {"logit_scale": 8.0, "residual_scale": 0.22, "embedding_scale": 12.0,
                                       "attention.scale": 0.125, "attention.head_count_kv": [0, 1]}),
    "granite_swa": model("attn_norm qkv attn_output attn_sinks ffn_norm swiglu",
                         keys=WINDOW | pattern(1, 0) | {"logit_scale": 8.0}),
    "minicpm": model(LLAMA, keys={"embedding_scale": 12.0, "residual_scale": 0.25, "logit_scale": 1.0}),
    "minicpm3": model("attn_norm attn_q_a attn_q_a_norm attn_q_b attn_kv_a_mqa attn_kv_a_norm attn_kv_b:R,H*(D+128) "
                      "attn_output:H*128,E ffn_norm swiglu", N=2,
                      keys={"attention.q_lora_rank": 32, "attention.kv_lora_rank": 32, "attention.key_length": 128,
                            "attention.value_length": 128}),
    "smollm3": model(LLAMA, layers=4, head=TIED),
    "olmo": model("qkv attn_output swiglu", head="output"),
    "olmo2": model(OLMO2.format("attn_q_norm:H*D attn_k_norm:N*D")),
    "olmo3": model(OLMO2.format("attn_q_norm:H*D attn_k_norm:N*D"), arch="olmo2", layers=4, keys=WINDOW),
    "olmoe": model("attn_norm qkv attn_q_norm:E attn_k_norm:E attn_output ffn_norm moe", F=32, N=2),
    "command-r": model("attn_norm qkv attn_output swiglu", head=TIED),
    "cohere2": model("attn_norm qkv attn_output swiglu", head=TIED, layers=4, keys=WINDOW | {"logit_scale": 0.25}),
    "cohere2moe": model("attn_norm qkv attn_output moe shared", layers=4,
                        keys=WINDOW | pattern(1, 1, 1, 0) | {"logit_scale": 0.25}),
    "internlm2": model(LLAMA),
    "baichuan": model(LLAMA, layers=32, E=64, H=1, F=32),  # 32 layers: what tells the 7B, which rotates, from the 13B
    "xverse": model(LLAMA),
    "orion": model("attn_norm+b qkv attn_output ffn_norm+b swiglu", head=BIASED),
    "refact": model(LLAMA),
    "stablelm": model("attn_norm+b qkv attn_output ffn_norm+b swiglu", head=BIASED, keys={"rope.dimension_count": 16}),
    "starcoder2": model(GPT, head=BIASED),
    "codeshell": model(GPT, head=BIASED),
    "gptneox": model("attn_norm+b attn_qkv+b attn_output+b ffn_norm+b mlp+b", head=BIASED, N=2,
                     keys={"use_parallel_residual": True, "rope.dimension_count": 16}),
    "falcon": model("attn_norm+b attn_qkv attn_output mlp", head=BIASED),
    "falcon-h1": model("attn_norm mamba2 qkv attn_output ffn_norm! swiglu", keys=SSM),
    "plamo": model("attn_norm qkv attn_output swiglu"),
    "plamo3": model("attn_norm attn_qkv qk_norm attn_output post_attention_norm! ffn_norm post_ffw_norm! "
                    "ffn_up:E,2*F ffn_down", layers=8, keys=WINDOW),
    "plm": model("attn_norm attn_q:E,H*2*D attn_kv_a_mqa attn_kv_a_norm attn_kv_b attn_output ffn_norm mlp",
                 head=TIED, N=2, keys={"attention.kv_lora_rank": 32, "attention.key_length": 128}),
    "chatglm": model("attn_norm qkv+b attn_output ffn_norm ffn_up:E,2*F ffn_down", keys={"rope.dimension_count": 32}),
    "glm4": model("attn_norm qkv+b attn_output post_attention_norm ffn_norm ffn_up:E,2*F ffn_down post_ffw_norm",
                  keys={"rope.dimension_count": 32}),
    "glm4moe": model("attn_norm qkv+b qk_norm attn_output post_attention_norm moe exp_probs_b.bias shared",
                     keys={"rope.dimension_count": 32}),
    "glm-dsa": model("attn_norm latent indexer ffn_norm moe exp_probs_b.bias shared", N=1,
                     keys=MLA | INDEXER | {"attention.indexer.types": [1, 1]}),
    "gpt-oss": model("attn_norm post_attention_norm qkv+b attn_output+b attn_sinks ffn_gate_inp+b ffn_gate_exps "
                     "ffn_up_exps ffn_down_exps ffn_gate_exps.bias:G,X ffn_up_exps.bias:G,X ffn_down_exps.bias:E,X",
                     keys=WINDOW),
    "deepseek": model("attn_norm qkv attn_output ffn_norm moe shared"),
    "deepseek2": model("attn_norm latent ffn_norm moe shared", keys=MLA),
    "deepseek2-ocr": model("attn_norm qkv attn_output ffn_norm moe shared", N=2),
    "deepseek32": model("attn_norm latent indexer ffn_norm moe exp_probs_b.bias shared",
                        keys=MLA | INDEXER | SIGMOID | {"rope.scaling.yarn_log_multiplier": 0.1}),
    "mistral4": model("attn_norm latent ffn_norm moe shared", keys=MLA),
    "llama4": model("attn_norm qkv attn_output ffn_norm moe shared", layers=4, keys={"interleave_moe_layer_step": 1}),
    "apertus": model("attn_norm qkv qk_norm attn_output ffn_norm mlp",
                     keys={"xielu.alpha_n": 1.0, "xielu.alpha_p": 1.0, "xielu.beta": 0.5, "xielu.eps": 1e-6}),
    "arcee": model("attn_norm qkv attn_output ffn_norm mlp"),
    "afmoe": model("attn_norm post_attention_norm qkv qk_norm attn_output attn_gate ffn_norm post_ffw_norm moe "
                   "exp_probs_b.bias shared", layers=4, keys=WINDOW),
    "arctic": model("attn_norm qkv attn_output ffn_norm ffn_gate:E,E ffn_up:E,E ffn_down:E,E ffn_norm_exps moe", F=32),
    "seed_oss": model("attn_norm qkv+b attn_output post_attention_norm swiglu"),
    "nemotron": model("attn_norm+b qkv attn_output ffn_norm+b mlp", head=BIASED, keys={"rope.dimension_count": 32}),
    "jais2": model(GPT, head=BIASED),
    "bitnet": model("attn_norm attn_sub_norm qkv attn_output ffn_norm ffn_sub_norm swiglu", head=TIED),
    "dbrx": model("attn_norm attn_qkv attn_output attn_output_norm moe", F=32, keys={"attention.clamp_kqv": 8.0}),
    "grok": model("attn_norm qkv attn_output attn_output_norm ffn_norm moe layer_output_norm"),
    "openelm": model("attn_norm attn_qkv qk_norm attn_output ffn_norm swiglu", head=TIED),
    "bailingmoe": model("attn_norm qkv attn_output ffn_norm moe shared"),
    "bailingmoe2": model("attn_norm attn_qkv qk_norm attn_output ffn_norm moe exp_probs_b.bias shared",
                         keys=SIGMOID),
    "dots1": model("attn_norm qkv qk_norm attn_output ffn_norm moe exp_probs_b.bias shared", N=2, keys=SIGMOID),
    "ernie4_5": model(LLAMA),
    "ernie4_5-moe": model("attn_norm qkv attn_output ffn_norm moe shared", keys={"interleave_moe_layer_step": 1}),
    "hunyuan-moe": model("attn_norm qkv qk_norm attn_output ffn_norm moe shared", F=32),
    "hunyuan-dense": model(QWEN3),
    "hunyuan_vl": model(QWEN3, keys=SECTIONS),
    "hy_v3": model("attn_norm qkv qk_norm attn_output ffn_norm moe shared"),
    "laguna": model("attn_norm qkv qk_norm attn_output attn_gate:E,H ffn_norm moe exp_probs_b.bias shared", layers=4,
                    keys=WINDOW | SIGMOID),
    "lfm2": model("attn_norm shortconv.conv shortconv.in_proj shortconv.out_proj ffn_norm swiglu",
                  "attn_norm qkv qk_norm attn_output ffn_norm swiglu", head="token_embd_norm",
                  keys={"shortconv.l_cache": 3, "attention.head_count_kv": [0, 1]}),
    "lfm2moe": model("attn_norm shortconv.conv shortconv.in_proj shortconv.out_proj ffn_norm moe exp_probs_b.bias",
                     "attn_norm qkv qk_norm attn_output ffn_norm moe exp_probs_b.bias", head="token_embd_norm",
                     keys={"shortconv.l_cache": 3, "attention.head_count_kv": [0, 1]} | SIGMOID),
    "llada": model(LLAMA),
    "llada-moe": model(QWEN3MOE),
    "dream": model(QWEN2),
    "rnd1": model(QWEN3MOE),
    "maincoder": model(QWEN3),
    "mellum": model(QWEN3MOE, layers=4, keys=WINDOW),
    "maple": model(QWEN3MOE, keys=WINDOW | pattern(1, 0) | {"swiglu_clamp_exp": 7.0}),
    "mimo2": model("attn_norm qkv attn_output attn_sinks ffn_norm moe exp_probs_b.bias", keys=WINDOW | pattern(1, 0)),
    "minimax-m2": model("attn_norm qkv attn_q_norm:H*D attn_k_norm:N*D attn_output ffn_norm moe exp_probs_b.bias", F=32,
                        keys=SIGMOID | {"rope.dimension_count": 32}),
    "minimax-m3": model("attn_norm qkv qk_norm attn_output ffn_norm moe exp_probs_b.bias shared indexer.q_proj:E,D "
                        "indexer.k_proj:E,D indexer.q_norm:D indexer.k_norm:D",
                        keys=INDEXER | {"attention.indexer.head_count": 1, "attention.indexer.block_size": 4,
                                        "attention.indexer.local_blocks": 1} | SIGMOID),
    "muse-glimmer": model("attn_norm post_attention_norm qkv qk_norm attn_output attn_gate ffn_norm post_ffw_norm "
                          "swiglu", layers=4, keys=WINDOW | {"logit_scale": 1.0}),
    "nanbeige": model(LLAMA),
    "paddleocr": model(LLAMA, keys=SECTIONS),
    "pangu-embedded": model("attn_norm qkv+b attn_output+b ffn_norm swiglu"),
    "smallthinker": model(LLAMA_MOE, layers=4, keys=WINDOW | SIGMOID),
    "spark2_5": model("attn_norm qkv attn_gate:E,H attn_output ffn_norm swiglu", keys=WINDOW | pattern(1, 0)),
    "step35": model(QWEN3, keys=WINDOW | pattern(0, 1) | {"expert_feed_forward_length": 32}),
    "talkie": model("qkv attn_q_norm:1,H attn_output swiglu layer_output_scale:1", head="output",
                    keys={"logit_scale": 1.0}),
    "cogvlm": model("attn_norm attn_qkv:E,3*H*D attn_output vis_attn_qkv:E,3*H*D vis_attn_output:H*D,E ffn_norm "
                    "swiglu vis_gate:E,F vis_up:E,F vis_down:F,E", N=2),
    "grovemoe": model(QWEN3MOE + " ffn_gate_chexps:E,G,2 ffn_up_chexps:E,G,2 ffn_down_chexps:G,E,2",
                      keys={"expert_chunk_feed_forward_length": 32, "expert_group_scale": 0.05,
                            "experts_per_group": 2}),
    "minimax-01": model("attn_norm attn_norm_2:H*D attn_qkv:E,3*H*D attn_gate attn_output ffn_norm moe", LLAMA_MOE,
                        F=32, keys={"residual_scale": 3.5, "full_attention_interval": 2}),
    "qwen3tts": model(QWEN3, V=3072, keys=SECTIONS),  # the size of the output is built in
    "pockettts": model("attn_norm+b qkv attn_output ffn_norm+b mlp", head="output_norm+b"),
    "hrm_text": model("qkv attn_gate attn_output swiglu", head="output hrm.z_l_init!:E", keys={
        "block_count": 4, "hrm.layers_per_stack": 1, "hrm.h_cycles": 1, "hrm.l_cycles": 3}),
    "plamo2": model(
        "attn_norm ssm_in:E,4*S ssm_conv1d:4,2*S ssm_x:2*S,64+2*S ssm_dt+b:64,2 ssm_a! ssm_d!:2 ssm_out "
        "ssm_dt_norm!:64 ssm_b_norm!:S ssm_c_norm!:S post_attention_norm! ffn_norm ffn_up:E,2*F ffn_down "
        "post_ffw_norm!",
        "attn_norm attn_qkv attn_q_norm:D,H attn_k_norm:D,N attn_output post_attention_norm! ffn_norm ffn_up:E,2*F "
        "ffn_down post_ffw_norm!", keys=SSM | {"ssm.group_count": 0, "attention.head_count_kv": [0, 1]}),
    "hy_v4": model(
        "attn_norm attn_sinks latent attn_gate hc_attn_fn:4*E,8 hc_attn_base:8 hc_attn_scale:2 hc_ffn_fn:4*E,8 "
        "hc_ffn_base:8 hc_ffn_scale:2 ffn_norm moe shared", head="output_norm output " + HYPER, keys=MLA | SIGMOID | {
            "hyper_connection.count": 4, "hyper_connection.epsilon": 1e-6, "hyper_connection.magnitude": 2.0}),
    "deepseek4": model(
        DEEPSEEK4,
        DEEPSEEK4 + " attn_compressor_kv:E,2*D attn_compressor_gate:E,2*D attn_compressor_ape:2*D,4 "
        "attn_compressor_norm:D indexer.proj indexer.attn_q_b indexer_compressor_kv:E,2*D "
        "indexer_compressor_gate:E,2*D indexer_compressor_ape:2*D,4 indexer_compressor_norm:D",
        DEEPSEEK4 + " attn_compressor_kv:E,D attn_compressor_gate:E,D attn_compressor_ape:D,128 attn_compressor_norm:D",
        layers=3, head="output_norm output " + HYPER, keys=INDEXER | WINDOW | {
            "attention.compress_ratios": [0, 4, 128], "attention.compress_rope_freq_base": 160000.0,
            "attention.output_group_count": 2, "attention.output_lora_rank": 32, "attention.q_lora_rank": 32,
            "expert_gating_func": 4, "expert_weights_norm": True, "expert_weights_scale": 1.0, "hash_layer_count": 0,
            "hyper_connection.count": 4, "hyper_connection.epsilon": 1e-6, "hyper_connection.sinkhorn_iterations": 2,
            "rope.dimension_count": 32, "swiglu_clamp_exp": 10.0}),
    "dots3note": model(
        "attn_norm latent attn_k_norm attn_gate:E,H ffn_norm moe exp_probs_b.bias shared",
        "attn_norm latent attn_k_norm attn_gate:E,H indexer ffn_norm moe exp_probs_b.bias shared",
        keys=MLA | SIGMOID | INDEXER | WINDOW | pattern(1, 0) | {
            "attention.indexer.types": [0, 1], "attention.kv_lora_rank_swa": 32, "attention.key_length_swa": 96,
            "attention.value_length_swa": 32, "attention.key_length_mla_swa": 128, "attention.value_length_mla_swa": 64,
            "rope.freq_base_swa": 10000.0}),
    "bailingmoe3": model(
        "attn_norm ssm_conv1d_q:4,1,2*S,1 ssm_conv1d_k:4,1,2*S,1 ssm_conv1d_v:4,1,2*S,1 attn_q attn_k:E,2*S "
        "attn_v:E,2*S ssm_f_a:E,2*S ssm_beta ssm_a!:1,2 ssm_dt.bias:2*S ssm_g_a:E,2*S ssm_norm attn_output ffn_norm "
        "moe exp_probs_b.bias shared",
        "attn_norm latent attn_gate:E,H ffn_norm moe exp_probs_b.bias shared", keys=MLA | SIGMOID | {
            "ssm.conv_kernel": 4, "kda.head_dim": 64, "kda.gate_lower_bound": -5.0, "attention.head_count_kv": [0, 1]}),
    "qwen4exp": model(
        LOW_RANK + "delta_net ssm_alpha ssm_beta moe ffn_gate_inp_shexp shared",
        LOW_RANK + "attn_q:E,2*H*D attn_k attn_v qk_norm attn_output indexer.q_proj:E,H*D indexer.k_proj:E,D "
        "indexer.q_norm:D indexer.k_norm:D moe ffn_gate_inp_shexp shared",
        head="output output_hc_norm:E,2 output_hc_down:2*E,8 output_hc_up:8,2*E", keys=SSM | SECTIONS | INDEXER | {
            "full_attention_interval": 2, "hyper_connection.count": 2, "hyper_connection.low_rank": 8}),
}

# Architectures of llama.cpp v0.5.0 without a row, and why.
NOT_MADE = {
    "no rotation in the graph":
        "arwkv7 bloom clip gpt2 gptj jais jamba jina-bert-v2 kimi-k3 kimi-linear mamba mamba2 mpt nemotron_h "
        "nemotron_h_moe rwkv6 rwkv6qwen2 rwkv7 starcoder t5 t5encoder wavtokenizer-dec",
    "makes embeddings, no logits":
        "bert eurobert gemma-embedding jina-bert-v3 llama-embed modern-bert neo-bert nomic-bert nomic-bert-moe",
    "drafts for another model and does not run alone": "dflash eagle3 gemma4-assistant",
    "needs adapters in the file": "graniteswitch",
    "half implemented in llama.cpp, image tokens at fixed numbers below 10240": "chameleon",
}

# ---- writing --------------------------------------------------------------------------------------------------------


def tensors(row):
    """(name, shape) of every tensor of a row, in the order of a converter: embedding, blocks, rest."""
    def expand(words):
        for word in words.split():
            stem, _, shape = word.partition(":")
            if stem.removesuffix("+b") in GROUPS:
                suffix = "+b" if stem.endswith("+b") else ""
                yield from expand(" ".join(w + suffix for w in GROUPS[stem.removesuffix("+b")].split()))
                continue
            name = re.sub(r"(\+b|\.bias|!)$", "", stem)
            shape = [eval(d, {}, row["sizes"]) for d in (shape or SHAPES[name]).split(",")]  # pylint: disable=eval-used
            if stem.endswith(".bias"):
                yield name + ".bias", shape
            elif stem.endswith("!"):
                yield name, shape
            else:
                yield name + ".weight", shape
                if stem.endswith("+b"):
                    yield name + ".bias", shape[-1:]

    yield from expand("token_embd")
    for i in range(row["layers"]):
        for name, shape in expand(row["blocks"][i % len(row["blocks"])]):
            yield f"blk.{i}.{name}", shape
    yield from expand(row["head"])


# Kept in float32 whatever their shape, as converters do: llama.cpp multiplies or convolves with them directly.
FLOAT32 = re.compile(r"norm|bias$|ffn_gate_inp|conv|ssm_|altup_|attn_sinks|scale|hc_|_ape")


def values(name, shape):
    """Random numbers that keep activations near 1 and make attention scores vary by about 2, so that a change of the
    rotation is seen in the logits."""
    seed = int.from_bytes(hashlib.sha256(f"{name} {shape}".encode()).digest()[:8], "little")
    normal = np.random.default_rng(seed).standard_normal(shape[::-1], dtype=np.float32)
    if name.endswith("bias"):
        return 0.2 * normal
    if "norm" in name or "scale" in name:
        return 1 + 0.1 * normal
    if re.search(r"ssm_a$", name):  # a decay: negative
        return -np.abs(normal)
    if name == "token_embd.weight" or len(shape) == 1:
        return normal
    gain = 1.5 if re.search(r"attn_(q|k|qkv)\.", name) else 1.0
    return gain / math.sqrt(shape[0]) * normal


def llama3_factors(pairs, base=5e5, factor=8.0, low=1.0, high=4.0, trained=8192):
    """rope_freqs as convert_hf_to_gguf.py writes it for Llama 3.1."""
    turns = trained / (2 * np.pi * base ** (np.arange(pairs) / pairs))
    ramp = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - ramp) / factor + ramp)).astype(np.float32)


def special(name, pairs):
    if name == "rope_freqs":
        return llama3_factors(pairs)
    ramp = np.linspace(0, 1, pairs, dtype=np.float32)  # the shape of Phi-3's tables: 1 to 32 and 1 to 2
    return 1 + (31 if name == "rope_factors_long" else 1) * ramp**2


def metadata(row):
    s = row["sizes"]
    keys = {
        "context_length": 4096, "embedding_length": s["E"], "block_count": row["layers"], "feed_forward_length": s["F"],
        "attention.head_count": s["H"], "attention.head_count_kv": s["N"], "attention.key_length": s["D"],
        "attention.value_length": s["D"], "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.layer_norm_epsilon": 1e-5,
        "rope.dimension_count": s["D"], "rope.freq_base": 1e4, "vocab_size": s["V"],
    }
    words = " ".join(row["blocks"]).split()
    if "moe" in words or "ffn_gate_exps" in words:
        keys |= {"expert_count": s["X"], "expert_used_count": 2, "expert_feed_forward_length": s["G"],
                 "leading_dense_block_count": 0}
    keys |= {"expert_shared_count": 1, "expert_shared_feed_forward_length": s["G"]} if "shared" in words else {}
    return keys | row["keys"]


def add_tokenizer(writer, size):
    """Bytes, spelled as SentencePiece does (id 32 is the escaped space), three control tokens, unused ones."""
    tokens = ["\u2581" if i == 32 else f"<0x{i:02X}>" for i in range(256)] + ["<s>", "</s>", "<unk>"]
    types = [gguf.TokenType.NORMAL if i == 32 else gguf.TokenType.BYTE for i in range(256)]
    types += [gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, gguf.TokenType.UNKNOWN]
    types += [gguf.TokenType.UNUSED] * (size - len(tokens))
    tokens += [f"<unused_{i}>" for i in range(size - len(tokens))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * size)
    writer.add_token_types(types)
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_unk_token_id(258)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)


def add_key(writer, key, value):
    add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string,
           list: writer.add_array}
    add[type(value)](key, value)


def write(name, folder):
    row, path = MODELS[name], folder / f"{name}.gguf"
    arch = row["arch"] or name
    plan = list(tensors(row))
    shards = {"split_max_tensors": -(-len(plan) // 3)} if name.endswith("-split") else {}
    writer = gguf.GGUFWriter(path, arch, **shards)
    writer.add_name("random")  # not the architecture: llama.cpp treats the vocabulary of a model called phi3 specially
    keys = metadata(row)
    for key, value in keys.items():
        add_key(writer, key if key.startswith("xielu.") else f"{arch}.{key}", value)  # xielu.* is read without prefix
    add_tokenizer(writer, row["sizes"]["V"])
    quantized = gguf.GGMLQuantizationType.Q8_0 if name.endswith("-q8_0") else None
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if quantized else gguf.LlamaFileType.MOSTLY_F16)
    for tensor, shape in plan:
        data = values(tensor, shape)
        if len(shape) < 2 or FLOAT32.search(tensor):
            writer.add_tensor(tensor, data.astype(np.float32))
        elif quantized:
            writer.add_tensor(tensor, gguf.quants.quantize(data.astype(np.float32), quantized), raw_dtype=quantized)
        else:
            writer.add_tensor(tensor, data.astype(np.float16))
    for tensor in row["extra"].split():
        writer.add_tensor(f"{tensor}.weight", special(tensor, keys["rope.dimension_count"] // 2).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="OUT_DIR", type=pathlib.Path, nargs="?")
    parser.add_argument("--arch", help="only these, by commas")
    parser.add_argument("--list", action="store_true", help="print the names and write nothing")
    args = parser.parse_args()
    names = args.arch.split(",") if args.arch else list(MODELS)
    if args.list:
        print("\n".join(names))
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write(name, args.folder)


if __name__ == "__main__":
    main()

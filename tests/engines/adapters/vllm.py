# SPDX-License-Identifier: MIT
"""vLLM: its config reader, its decoder layers and its rotary embedding, in float32 on a CPU."""

import importlib
import os
import types

os.environ["VLLM_TARGET_DEVICE"] = "cpu"
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import conformance as c

from . import layers

vllm = c.needs("vllm", "vllm")

import torch
import vllm.model_executor.layers.rotary_embedding as rotary_embedding
from vllm.config import CacheConfig, DeviceConfig, VllmConfig, set_current_vllm_config
from vllm.config.model import _get_and_verify_max_len
from vllm.transformers_utils.config import get_config
from vllm.transformers_utils.model_arch_config_convertor import ModelArchConfigConvertorBase

NAME = "vllm"
TOLERANCE = 1e-6  # float32: a few roundings of an angle, its sine and the arc tangent taken here
CONTEXTS = [4096, c.CONTEXT]  # what it is started for
SHAPES = list(c.SHAPES)
MORE_MODELS = ["gemma2", "glm", "glm4", "granite", "olmo2", "qwen2_5_vl_text", "smollm3"]  # test_vllm_server.py
ROPES = list(c.ROPES)
LAYERS = {
    "llama": "llama.LlamaDecoderLayer",
    "phi3": "llama.LlamaDecoderLayer",
    "qwen2": "qwen2.Qwen2DecoderLayer",
    "qwen3": "qwen3.Qwen3DecoderLayer",
    "mistral": "mistral.MistralDecoderLayer",
    "gemma3_text": "gemma3.Gemma3DecoderLayer",
    # For test_vllm.py
    "cohere": "commandr.CohereDecoderLayer",
    "cohere2": "commandr.CohereDecoderLayer",
    "cohere2_moe": "cohere2_moe.Cohere2MoeDecoderLayer",
    "ernie4_5_moe": "ernie45_moe.Ernie4_5_MoeDecoderLayer",
    "glm4": "glm4.Glm4DecoderLayer",
    "gpt_oss": "gpt_oss.OAIAttention",
    # For test_sections.py
    "qwen2_5_vl_text": "qwen2.Qwen2DecoderLayer",
    "qwen3_vl_text": "qwen3_vl.Qwen3VLDecoderLayer",
    "qwen3_5_text": "qwen3_5.Qwen3_5DecoderLayer",
}
SECTIONED = list(c.SECTIONED)
MORE_MODELS = {*MORE_MODELS, *c.sectioned_models(SECTIONED)}


def version():
    return vllm.__version__


def length(folder):
    hf = get_config(folder, trust_remote_code=False)
    architecture = ModelArchConfigConvertorBase(hf, hf).convert()
    return _get_and_verify_max_len(hf, architecture, None, None, False, None)


def rotary_of(folder, context, dtype=torch.float32):
    """The rotary embedding of the first layer of the model that the folder describes, started for `context` tokens."""
    return _rotary(get_config(folder, trust_remote_code=False), context, 0, dtype)


def _rotary(hf, context, layer, dtype=torch.float32):
    module_name, class_name = LAYERS[hf.model_type].split(".")
    base = {"qwen3_vl": "qwen3", "qwen3_5": "qwen3_next"}.get(module_name, "llama")
    modules = [f"vllm.model_executor.models.{m}" for m in {module_name, base, "llama", "qwen2"}]
    config = VllmConfig(device_config=DeviceConfig(device="cpu"))
    model = types.SimpleNamespace(
        max_model_len=context, hf_config=hf, hf_text_config=hf, dtype=dtype, multimodal_config=None
    )
    object.__setattr__(config, "model_config", model)
    rotary_embedding._ROPE_DICT.clear()  # the key of this cache has no max_model_len
    with layers.StandIns("torchvision", "compressed_tensors"):
        cls = getattr(importlib.import_module(f"vllm.model_executor.models.{module_name}"), class_name)
    prefix = f"model.layers.{layer}"
    torch.set_default_dtype(dtype)
    try:
        with layers.StandIns("torchvision", "compressed_tensors"), layers.without_layers("vllm", *modules):
            with set_current_vllm_config(config):
                if module_name in ("llama", "mistral", "glm4"):
                    return cls(config, prefix=prefix).self_attn.rotary_emb
                if module_name == "qwen3_5":
                    return cls(config, "full_attention", prefix=prefix).self_attn.rotary_emb
                if module_name == "qwen3_vl":
                    return cls(config=hf, cache_config=CacheConfig(), prefix=prefix).self_attn.rotary_emb
                return cls(hf, cache_config=CacheConfig(), quant_config=None, prefix=prefix).self_attn.rotary_emb
    finally:
        torch.set_default_dtype(torch.float32)


def ask_config(hf, context):
    names = {0: "sliding_attention", 5: "full_attention"} if hf.model_type == "gemma3_text" else {0: "all"}
    rotaries = {name: _rotary(hf, context, layer) for layer, name in names.items()}
    return {n: c.table_from(*layers.unit_rotation(r, [1, context - 1], c.PAIRS)) for n, r in rotaries.items()}


def ask(folder, context):
    return ask_config(get_config(folder, trust_remote_code=False), context)


def ask_sections(folder, context):
    """Of a model that sees pictures, the rotation of its text."""
    rotary = _rotary(get_config(folder, trust_remote_code=False).get_text_config(), context, 0)
    return {"all": c.table_from(*layers.unit_rotation_of_text(rotary, [1, context - 1], c.PAIRS))}

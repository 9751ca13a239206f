# SPDX-License-Identifier: MIT
"""SGLang: its config reader, its decoder layers and its rotary embedding, in float32 on a CPU."""

import importlib
import inspect

import conformance as c

from . import layers

sglang = c.needs("sglang", "sglang")

import sglang.srt.layers.rotary_embedding.base as base
import sglang.srt.layers.rotary_embedding.factory as factory
import torch
from sglang.srt.utils.hf_transformers.common import get_context_length
from sglang.srt.utils.hf_transformers_utils import get_config
from transformers import AutoConfig

base._is_cpu = True  # else it looks for a kernel of vLLM, to rotate with
NAME = "sglang"
TOLERANCE = 1e-6  # float32: a few roundings of an angle, its sine and the arc tangent taken here
CONTEXTS = [4096, c.CONTEXT]  # tokens of the text
SHAPES = list(c.SHAPES)
ROPES = list(c.ROPES)
LAYERS = {"llama": "llama.Llama", "phi3": "llama.Llama", "mistral": "llama.Llama", "qwen2": "qwen2.Qwen2", "qwen3": "qwen3.Qwen3"}
LAYERS |= {"cohere": "commandr.Cohere", "cohere2": "commandr.Cohere", "cohere2_moe": "cohere2_moe.Cohere2Moe"}  # for test_sglang.py
LAYERS |= {"glm4": "glm4.Glm4", "ernie4_5": "ernie4.Ernie4", "ernie4_5_moe": "ernie4.Ernie4"}
LAYERS |= {"qwen2_5_vl": "qwen2.Qwen2", "qwen3_vl": "qwen3.Qwen3", "qwen3_5_text": "qwen3_5.Qwen3_5Attention"}  # for test_sections.py
SECTIONED = list(c.SECTIONED)
MORE_MODELS = c.sectioned_models(SECTIONED)


def version():
    return sglang.__version__


def length(folder):
    return get_context_length(AutoConfig.from_pretrained(folder))


def rotary_of(config):
    for name in dir(factory):  # tables are kept between calls
        if name.startswith("_ROPE") and isinstance(getattr(factory, name), dict):
            getattr(factory, name).clear()
    module_name, family = LAYERS[config.model_type].split(".")
    module = importlib.import_module(f"sglang.srt.models.{module_name}")
    modules = [f"sglang.srt.models.{m}" for m in {module_name, "llama", "qwen2"}]
    cls = getattr(module, f"{family}DecoderLayer")
    known = inspect.signature(cls).parameters
    more = {"layer_id": 0, "prefix": "model.layers.0", "build_stages": False}
    with layers.without_layers("sglang", *modules):
        layer = cls(config, **{k: v for k, v in more.items() if k in known})
        return getattr(layer, "self_attn", layer).rotary_emb


def gemma(config, positions):
    """Gemma 3 has modules of its own, made with transformers' functions."""
    module = importlib.import_module("sglang.srt.models.gemma3_causal")
    with layers.without_layers("sglang", "sglang.srt.models.gemma3_causal"):
        make_layers, module.make_layers = module.make_layers, lambda *_, **__: torch.nn.ModuleList()
        try:
            model = module.Gemma3TextModel(config)
        finally:
            module.make_layers = make_layers
    found = {}
    for name, rotary in (("full_attention", model.rotary_emb), ("sliding_attention", model.rotary_emb_local)):
        cosine, sine = rotary(torch.zeros(1, 1), positions[None])
        found[name] = c.table_from(cosine[0, 0, : c.PAIRS].numpy(), sine[0, 0, : c.PAIRS].numpy())
    return found


def flaw(folder):
    """What is wrong beside the table: a text that ends at the length where the lists change."""
    config = AutoConfig.from_pretrained(folder)
    if config.model_type == "gemma3_text" or "original_max_position_embeddings" not in config.rope_parameters:
        return None
    position = config.rope_parameters["original_max_position_embeddings"]
    if position >= config.max_position_embeddings:
        return None
    rotary = rotary_of(config)
    alone = layers.unit_rotation(rotary, [position], c.PAIRS)
    among = layers.unit_rotation(rotary, [position, position + 1], c.PAIRS)
    if abs(alone[0] - among[0]).max() > 0.1:
        return f"position {position} is rotated as another"
    return None


def ask(folder, context):
    config = AutoConfig.from_pretrained(folder)
    positions = [1, context - 1]
    if config.model_type == "gemma3_text":
        return gemma(config, torch.tensor(positions))
    return {"all": c.table_from(*layers.unit_rotation(rotary_of(config), positions, c.PAIRS))}


def ask_sections(folder, context):
    """Of a model that sees pictures, the rotation of its text. Two of them hand their layers the config of the whole."""
    config = get_config(str(folder), trust_remote_code=False)
    rotary = rotary_of(config.text_config if config.model_type == "qwen3_5" else config)
    return {"all": c.table_from(*layers.unit_rotation_of_text(rotary, [1, context - 1], c.PAIRS))}

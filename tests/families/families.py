# SPDX-License-Identifier: MIT
"""Families as files: a folder with the released config.json, and a GGUF header with the same values.

Nothing of a model's weights is in either: `inspect`, `plan`, `extend` and `doctor` read headers. released.py has the values.
"""
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import tiny_gguf  # noqa: E402  pylint: disable=wrong-import-position
from released import FAMILIES  # noqa: E402  pylint: disable=wrong-import-position

FAMILIES = {family["name"]: family for family in FAMILIES}
WINDOWED = ("cohere2", "exaone4", "gemma2", "gemma3", "gemma3n", "gemma4", "gpt-oss", "olmo2", "phi3")  # whose conversion writes the window


def file_name(family):
    return family["model"].replace("/", "-")


def text_part(config):
    return config.get("text_config", config)


def rope_of(config):
    """The scaling of the layers that see the whole text, under either name."""
    text = text_part(config)
    rope = text.get("rope_scaling") or text.get("rope_parameters") or {}
    return rope.get("full_attention", rope)


def write_config(folder, family):
    """FOLDER/MODEL with config.json; what to type is its path."""
    path = pathlib.Path(folder) / file_name(family)
    path.mkdir()
    (path / "config.json").write_text(json.dumps(family["config"], indent=2) + "\n", encoding="utf-8")
    return path


def write_gguf(folder, family):
    path = pathlib.Path(folder) / f"{file_name(family)}.gguf"
    keys, tensors = gguf_keys(family)
    tiny_gguf.write(path, family["gguf"], keys, tensors, name=family["model"])
    return path


def gguf_keys(family):
    """(keys, F32 tensors) as convert_hf_to_gguf.py of llama.cpp derives them from the config, then those of the family."""
    text, rope = text_part(family["config"]), rope_of(family["config"])
    heads = text.get("num_attention_heads", 0)
    head = text.get("head_dim") or text["hidden_size"] // max(heads, 1)
    base = text.get("rope_theta") or rope.get("rope_theta") or 10000.0
    partial = text.get("partial_rotary_factor") or rope.get("partial_rotary_factor") or 1.0
    keys = {"block_count": text["num_hidden_layers"], "context_length": text.get("max_position_embeddings", 0), "embedding_length": text["hidden_size"],
            "attention.head_count": heads, "attention.head_count_kv": text.get("num_key_value_heads", heads), "attention.key_length": head,
            "attention.value_length": head, "rope.dimension_count": int(head * partial), "rope.freq_base": float(base)}  # fmt: skip
    if isinstance(text.get("intermediate_size"), int):
        keys["feed_forward_length"] = text["intermediate_size"]
    if "kv_lora_rank" in text:  # the cache holds the latent part and the rotated one
        rotated = text["qk_rope_head_dim"]
        keys |= {"attention.kv_lora_rank": text["kv_lora_rank"], "attention.head_count_kv": 1, "rope.dimension_count": rotated,
                 "attention.key_length": text["kv_lora_rank"] + rotated, "attention.value_length": text["kv_lora_rank"],
                 "attention.key_length_mla": text["qk_nope_head_dim"] + rotated, "attention.value_length_mla": text.get("v_head_dim", 0)}  # fmt: skip
        if text.get("q_lora_rank"):
            keys["attention.q_lora_rank"] = text["q_lora_rank"]
    if family["gguf"] in WINDOWED and "sliding_window" in text:
        keys["attention.sliding_window"] = text["sliding_window"] or 0
    tensors = {} if family.get("tied") else {"output.weight": [0.0] * 64}
    scaling_keys, scaling_tensors = gguf_scaling(family, head * partial, base)
    return keys | scaling_keys | family.get("keys", {}), tensors | scaling_tensors | family.get("tensors", {})


def gguf_scaling(family, rotary_dim, base):
    """How a conversion writes a scaling: linear and yarn are keys, llama3 and longrope are tensors of factors."""
    text, rope = text_part(family["config"]), rope_of(family["config"])
    kind = rope.get("rope_type") or rope.get("type") or "default"
    original = rope.get("original_max_position_embeddings") or text.get("original_max_position_embeddings")
    if kind in ("linear", "yarn"):
        keys = {"rope.scaling.type": kind, "rope.scaling.factor": float(rope["factor"])}
        more = {"rope.scaling.yarn_attn_factor": "attention_factor", "rope.scaling.yarn_beta_fast": "beta_fast", "rope.scaling.yarn_beta_slow": "beta_slow"}
        keys |= {key: float(rope[field]) for key, field in more.items() if field in rope}
        return keys | ({"rope.scaling.original_context_length": original} if original else {}), {}
    if kind == "llama3":
        return {}, {"rope_freqs.weight": llama3_factors(int(rotary_dim), base, **rope)}
    if kind == "longrope":
        reach = text["max_position_embeddings"] / original
        scale = math.sqrt(1 + math.log(reach) / math.log(original)) if reach > 1 else 1.0
        lists = {"rope_factors_long.weight": rope["long_factor"], "rope_factors_short.weight": rope["short_factor"]}
        keys = {"rope.scaling.original_context_length": original, "rope.scaling.attn_factor": scale} if family["gguf"] == "phi3" else {}
        return keys | ({} if family["gguf"] == "minicpm3" else {"rope.scaling.type": "longrope"}), lists
    return ({"rope.scaling.original_context_length": original} if family["gguf"] == "phi3" else {}), {}


def llama3_factors(rotary_dim, base, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings, **_):
    """rope_freqs of Llama 3.1 and later: pairs with less than `low` turns in the trained length are slowed by `factor`."""
    factors = []
    for pair in range(rotary_dim // 2):
        turns = original_max_position_embeddings / (2 * math.pi * base ** (2 * pair / rotary_dim))
        if turns < low_freq_factor:
            factors.append(factor)
        elif turns > high_freq_factor:
            factors.append(1.0)
        else:
            share = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
            factors.append(1 / ((1 - share) / factor + share))
    return factors

# SPDX-License-Identifier: MIT
"""A Llama of one layer in numpy, in double precision: what the logits of an engine that shows no table are compared with."""

import json
from pathlib import Path

import numpy as np
from byte_letters import byte_letters
from safetensors.numpy import save_file

HIDDEN, HEADS, DIM, INNER, TOKENS = 128, 2, 64, 96, 320


def weights(seed=5):
    """Larger than usual: attention that is nearly uniform would not notice the rotation."""
    random = np.random.default_rng(seed)

    def matrix(rows, columns):
        return (random.standard_normal((rows, columns)) * 1.6 / np.sqrt(columns)).astype(np.float32)

    layer = "model.layers.0."
    return {
        "model.embed_tokens.weight": matrix(TOKENS, HIDDEN),
        f"{layer}input_layernorm.weight": np.ones(HIDDEN, np.float32),
        f"{layer}self_attn.q_proj.weight": matrix(HIDDEN, HIDDEN),
        f"{layer}self_attn.k_proj.weight": matrix(HIDDEN, HIDDEN),
        f"{layer}self_attn.v_proj.weight": matrix(HIDDEN, HIDDEN),
        f"{layer}self_attn.o_proj.weight": matrix(HIDDEN, HIDDEN),
        f"{layer}post_attention_layernorm.weight": np.ones(HIDDEN, np.float32),
        f"{layer}mlp.gate_proj.weight": matrix(INNER, HIDDEN),
        f"{layer}mlp.up_proj.weight": matrix(INNER, HIDDEN),
        f"{layer}mlp.down_proj.weight": matrix(HIDDEN, INNER),
        "model.norm.weight": np.ones(HIDDEN, np.float32),
        "lm_head.weight": matrix(TOKENS, HIDDEN),
    }


def norm(x, eps=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def rotated(x, speeds, scale):
    """(tokens, heads, DIM), half-split pairs."""
    angles = np.arange(len(x))[:, None, None] * np.asarray(speeds)
    cosine, sine = scale * np.cos(angles), scale * np.sin(angles)
    first, second = x[..., : DIM // 2], x[..., DIM // 2 :]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


def log_probabilities(w, tokens, speeds, scale=1.0):
    """Of the token after the last one."""
    w = {k.removeprefix("model.layers.0."): v.astype(np.float64) for k, v in w.items()}
    x = w["model.embed_tokens.weight"][np.asarray(tokens)]
    h = norm(x)
    q, k, v = ((h @ w[f"self_attn.{n}_proj.weight"].T).reshape(-1, HEADS, DIM) for n in "qkv")
    q, k = rotated(q, speeds, scale)[-1], rotated(k, speeds, scale)
    scores = np.einsum("hd,thd->ht", q, k) / np.sqrt(DIM)
    attention = np.exp(scores - scores.max(-1, keepdims=True))
    attention /= attention.sum(-1, keepdims=True)
    x = x[-1] + np.einsum("ht,thd->hd", attention, v).reshape(-1) @ w["self_attn.o_proj.weight"].T
    h = norm(x)
    gate = h @ w["mlp.gate_proj.weight"].T
    x = x + (gate / (1 + np.exp(-gate)) * (h @ w["mlp.up_proj.weight"].T)) @ w["mlp.down_proj.weight"].T
    logits = norm(x) @ w["lm_head.weight"].T
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def save(folder, w):
    """Weights and a tokenizer, beside the config.json."""
    save_file(w, str(Path(folder) / "model.safetensors"))
    save_tokenizer(folder)


def save_tokenizer(folder):
    """Of bytes: byte b is token b + 3."""
    special = ["<pad>", "<s>", "</s>"]
    letters = byte_letters()
    vocabulary = {t: i for i, t in enumerate(special)} | {letters[b]: b + 3 for b in range(256)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
            for i, t in enumerate(special)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }
    (Path(folder) / "tokenizer.json").write_text(json.dumps(tokenizer))
    template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "chat_template": template}
    (Path(folder) / "tokenizer_config.json").write_text(json.dumps(config))

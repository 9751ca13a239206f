# SPDX-License-Identifier: MIT
"""Random checkpoints of a few layers, saved by transformers, and what transformers computes with them under a table.

A table is given as `groups`, the form of hf_target_dump: it takes the place of what the model has built from its config,
so that neither the reader nor the RoPE code of transformers has a part in the answer.
"""

import json
import shutil

import numpy as np
import torch
import transformers

TRAINED, CONTEXT, TOKENS = 512, 2048, 320

SIZES = dict(
    hidden_size=128,
    intermediate_size=128,
    num_attention_heads=2,
    num_key_value_heads=2,
    head_dim=64,
    num_hidden_layers=2,
    max_position_embeddings=TRAINED,
    vocab_size=TOKENS,
    tie_word_embeddings=False,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    initializer_range=0.14,  # attention that is nearly uniform would not notice the rotation
)
MORE = {
    "gemma2": dict(sliding_window=64, query_pre_attn_scalar=64, tie_word_embeddings=True),
    "gemma3_text": dict(
        num_hidden_layers=3,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        sliding_window=64,
        query_pre_attn_scalar=64,
    ),
    "granite": dict(attention_multiplier=0.125),
    "phi3": dict(original_max_position_embeddings=TRAINED),
    "qwen2_5_vl": dict(rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [8, 12, 12]}),
    "smollm3": dict(num_hidden_layers=4),  # the fourth layer has no rotation
}
# Models that see: the part that nobody uses here
VISION = {
    "qwen2_5_vl": dict(
        depth=1, hidden_size=32, intermediate_size=32, num_heads=1, out_hidden_size=128, fullatt_block_indexes=[0]
    ),
}


def auto_class(config):
    sees = hasattr(config, "vision_config")
    return transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM


def save(folder, model_type, seed=1):
    """A checkpoint trained, as its config says, at TRAINED tokens, without a scaling."""
    torch.manual_seed(seed)
    sizes = SIZES | MORE.get(model_type, {})
    if model_type in VISION:
        sizes = dict(text_config=sizes, vision_config=VISION[model_type], tie_word_embeddings=False)
    config = transformers.AutoConfig.for_model(model_type, **sizes)
    auto_class(config).from_config(config, dtype=torch.float32).save_pretrained(folder)
    return folder


def with_rope(trained, folder, rope, **top):
    """The same checkpoint with another scaling, of all layers or of those that look far."""
    shutil.copytree(trained, folder)
    path = folder / "config.json"
    config = json.loads(path.read_text()) | top
    parameters = config["rope_parameters"]
    (parameters.get("full_attention") or parameters).update(rope)
    path.write_text(json.dumps(config))
    return path


def prompt(length, seed=3):
    return np.random.default_rng(seed).integers(3, TOKENS, length).tolist()


def set_table(model, groups):
    modules = list(model.get_decoder().modules())
    for group in groups:
        prefix = "" if group["name"] == "all" else f"{group['name']}_"
        rotary = [m for m in modules if hasattr(m, f"{prefix}inv_freq")]
        assert len(rotary) == 1, f"{len(rotary)} rotary embeddings for {group['name']} in {type(model).__name__}"
        speeds = torch.tensor(group["inv_freq"], dtype=torch.float32)
        assert getattr(rotary[0], f"{prefix}inv_freq").shape == speeds.shape
        setattr(rotary[0], f"{prefix}inv_freq", speeds)
        setattr(rotary[0], f"{prefix}attention_scaling", group["attention_scale"])


class Model:
    """transformers' own, in the precision that is asked for."""

    def __init__(self, folder, dtype=torch.float64):
        auto = auto_class(transformers.AutoConfig.from_pretrained(folder))
        self.model = auto.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()

    def log_probabilities(self, tokens, groups):
        """Of each token but the first, after those before it."""
        set_table(self.model, groups)
        with torch.no_grad():
            logits = self.model(torch.tensor([tokens])).logits[0, :-1].double()
        return torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0].numpy()

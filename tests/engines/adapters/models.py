# SPDX-License-Identifier: MIT
"""Small random weights and a tokenizer of bytes for a config.json: what engines need that only load whole models."""

import json
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

transformers.logging.set_verbosity_error()


def add_tokenizer(folder):
    """One token per byte, after three special ones."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2} | {letter: i + 3 for i, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    wrapped.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    wrapped.save_pretrained(folder)


def random_model(folder):
    """The transformers model of the folder without its scaling, with weights that do not depend on it, in eval mode.
    Weights are larger than fresh ones: attention that is nearly uniform would not notice the rotation."""
    config = json.loads((Path(folder) / "config.json").read_text())
    for key in ("rope_scaling", "rope_parameters", "original_max_position_embeddings"):
        config.pop(key, None)
    torch.manual_seed(7)
    plain = transformers.AutoConfig.for_model(**config)
    model = transformers.AutoModelForCausalLM.from_config(plain, attn_implementation="eager")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                parameter.copy_(torch.randn_like(parameter) * (0.3 if "_proj" in name else 1.0) / 2)
    return model.float().eval()


def save_weights(folder, model):
    """Beside the config.json that is there, which stays as it is."""
    text = (Path(folder) / "config.json").read_text()
    model.save_pretrained(folder)
    (Path(folder) / "config.json").write_text(text)

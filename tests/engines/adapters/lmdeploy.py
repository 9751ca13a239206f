# SPDX-License-Identifier: MIT
"""LMDeploy's PyTorch engine: the rotary embeddings its models build from a config, on a CPU."""

import types

import conformance as c

lmdeploy = c.needs("lmdeploy", "lmdeploy")

import torch
import transformers
from lmdeploy.pytorch.models.gemma import GemmaModel
from lmdeploy.pytorch.nn.rotary_embedding import build_rotary_embedding_from_config

transformers.logging.set_verbosity_error()
NAME = "lmdeploy"
TOLERANCE = 1e-6  # float32: a few roundings of an angle, its sine and the arc tangent taken here
CONTEXTS = [4096, c.CONTEXT]  # tokens of the text
SHAPES = list(c.SHAPES)
ROPES = list(c.ROPES)


def version():
    return lmdeploy.__version__


def ask(folder, context):
    config = transformers.AutoConfig.from_pretrained(folder)
    if config.model_type == "gemma3_text":
        model = types.SimpleNamespace(model_type=config.model_type)
        GemmaModel.build_rope_emb(model, config)
        modules = {"full_attention": model.rotary_emb, "sliding_attention": model.rotary_emb_local}
    else:
        modules = {"all": build_rotary_embedding_from_config(config)}  # what every other model here calls
    positions = torch.tensor([[1, context - 1]])
    found = {}
    for name, module in modules.items():
        cosine, sine = module(torch.zeros(1, 2, 2 * c.PAIRS), positions)
        found[name] = c.table_from(*(x.reshape(2, -1)[0, : c.PAIRS].numpy() for x in (cosine, sine)))
    return found

# SPDX-License-Identifier: MIT
"""mlx-lm: its model classes built from a config.json, and unit vectors rotated by the kernel they chose."""

import importlib.metadata
import json
from pathlib import Path

import conformance as c

c.needs("mlx_lm", "mlx_lm")

import mlx.core as mx
import numpy as np
from mlx_lm.utils import _get_classes

mx.set_default_device(mx.cpu)
NAME = "mlx-lm"
# The kernel takes the speeds as exp2(-log2(base) i/n) in float32: an exponent of 16.6 is rounded by 2^-20, and again in
# the product with the position.
TOLERANCE = 4e-6
CONTEXTS = [4096, c.CONTEXT]  # tokens of the text
SHAPES = list(c.SHAPES)
ROPES = list(c.ROPES)


def version():
    return importlib.metadata.version("mlx-lm")


def ask(folder, context):
    config = json.loads((Path(folder) / "config.json").read_text())
    model_class, args_class = _get_classes(config)
    model = model_class(args_class.from_dict(config))
    layers = {0: "all"}
    if config["model_type"] == "gemma3_text":
        layers = {0: "sliding_attention", 5: "full_attention"}
    x = mx.concatenate([mx.ones((1, 1, context, c.PAIRS)), mx.zeros((1, 1, context, c.PAIRS))], axis=-1)
    found = {}
    for index, name in layers.items():
        out = np.array(model.layers[index].self_attn.rope(x, offset=0))[0, 0, 1]
        found[name] = c.table_from(out[: c.PAIRS], out[c.PAIRS :])
    return found

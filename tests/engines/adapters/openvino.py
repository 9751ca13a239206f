# SPDX-License-Identifier: MIT
"""OpenVINO through optimum-intel: a small model is exported, and its graph asked for cosines and sines."""

import functools
import importlib.metadata
import tempfile
from pathlib import Path

import conformance as c

c.needs("optimum.intel", "openvino")

import numpy as np
import openvino
from optimum.intel import OVModelForCausalLM

from . import models

NAME = "openvino"
TOLERANCE = 1e-6  # float32: a few roundings of an angle, its sine and the arc tangent taken here
CONTEXTS = [4096, c.CONTEXT]  # tokens of the text
SHAPES = ["llama", "qwen3", "gemma3_text"]
ROPES = ["plain", "dynamic", "yarn, attention_factor", "longrope", "longrope, mscales", "longrope, L*"]
SPELLINGS = []
METHODS = ["mrrope-pro"]  # exporting a model takes seconds


def version():
    return importlib.metadata.version("optimum-intel")


def scaled(node):
    """A cosine or sine after the attention scale, where there is one."""
    consumers = [i.get_node() for i in node.output(0).get_target_inputs()]
    if len(consumers) == 1 and consumers[0].get_type_name() == "Multiply" and "rotary_emb" in consumers[0].get_friendly_name():
        return scaled(consumers[0])
    return node


@functools.lru_cache(maxsize=1)
def exported(text):
    """(names of the tables, their graph compiled alone) of a config.json."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(text)
        models.add_tokenizer(folder)
        models.save_weights(folder, models.random_model(folder))
        model = OVModelForCausalLM.from_pretrained(folder, export=True, load_in_8bit=False, compile=False).model
    nodes = {kind: {} for kind in ("Cos", "Sin")}
    for node in model.get_ordered_ops():
        name = node.get_friendly_name()
        if node.get_type_name() in nodes and "rotary_emb" in name:
            nodes[node.get_type_name()][name.split("/")[0].split(".")[-1]] = scaled(node)
    names = list(nodes["Cos"])
    results = [nodes[kind][name].output(0) for name in names for kind in ("Cos", "Sin")]
    graph = openvino.Model(results, model.get_parameters(), "rotation")
    return names, openvino.compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def ask(folder, context):
    names, graph = exported((Path(folder) / "config.json").read_text())
    inputs = {
        "input_ids": np.ones((1, 2), dtype=np.int64),
        "attention_mask": np.ones((1, 2), dtype=np.int64),
        "position_ids": np.array([[1, context - 1]], dtype=np.int64),
        "beam_idx": np.zeros(1, dtype=np.int32),
    }
    known = {i.get_any_name() for i in graph.inputs}
    out = [x[0, 0, : c.PAIRS] for x in graph({k: v for k, v in inputs.items() if k in known}).values()]
    groups = {"rotary_emb": "all"} if len(names) == 1 else {"rotary_emb": "full_attention", "rotary_emb_local": "sliding_attention"}
    return {groups[name]: c.table_from(out[2 * i], out[2 * i + 1]) for i, name in enumerate(names)}

# SPDX-License-Identifier: MIT
"""ONNX Runtime GenAI: its model builder, and the tables it writes into the ONNX file."""

import contextlib
import importlib.metadata
import io
import tempfile
from pathlib import Path

import conformance as c

c.needs("onnxruntime_genai", "onnxruntime_genai")

import onnx
from onnxruntime_genai.models import builder

from . import models

NAME = "onnxruntime-genai"
TOLERANCE = 1e-6  # float32: a few roundings of an angle, its sine and the arc tangent taken here
CONTEXTS = [c.CONTEXT]
SHAPES = ["llama", "qwen2", "qwen3", "mistral"]
ROPES = list(c.ROPES)


def version():
    return importlib.metadata.version("onnxruntime-genai")


def build(folder, out):
    """model.onnx and what runs it, from a folder with a config.json."""
    models.add_tokenizer(folder)
    models.save_weights(folder, models.random_model(folder))
    arguments = (None, str(folder), str(out), "fp32", "cpu", str(Path(out) / "cache"))
    with contextlib.redirect_stdout(io.StringIO()):
        options = builder.parse_extra_options(*arguments, [])
        builder.create_model(*arguments, **options)


def ask(folder, _):
    with tempfile.TemporaryDirectory() as out:
        build(folder, out)
        model = onnx.load(str(Path(out) / "model.onnx"))
        tables = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer if t.name in ("cos_cache", "sin_cache")}
    return {"all": c.table_from(tables["cos_cache"][1], tables["sin_cache"][1])}

# SPDX-License-Identifier: MIT
"""ExLlamaV3: its config classes and its rope module. Importing the package compiles CUDA code, so the rest of it, which
the table does not depend on, is replaced by empty modules."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import types
from pathlib import Path

import conformance as c

c.needs("torch", "exllamav3")

from .layers import Anything

NAME = "exllamav3"
TOLERANCE = 1e-6  # float32, read as an attribute
CONTEXTS = [c.CONTEXT]  # the table does not depend on the length it is started for
SHAPES = list(c.SHAPES)
ROPES = list(c.ROPES)


class Emptied(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class EmptyModules:
    """Finds what is not loaded: layers, kernels, loaders, and what only pictures need."""

    UNLOADED = ("exllamav3.ext", "exllamav3.loader", "exllamav3.modules", "exllamav3.model.model", "exllamav3.tokenizer", "PIL")

    def find_spec(self, name, *_):
        if name in self.UNLOADED or name.startswith(tuple(f"{n}." for n in self.UNLOADED)):
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Emptied(spec.name)

    def exec_module(self, module):
        pass


def _load():
    try:
        root = Path(importlib.metadata.distribution("exllamav3").locate_file("exllamav3"))
    except importlib.metadata.PackageNotFoundError as error:
        raise ImportError("exllamav3 is not installed; see tools/engine_env exllamav3") from error
    for name in ("", ".util", ".model", ".architecture"):
        module = types.ModuleType(f"exllamav3{name}")
        module.__path__ = [os.path.join(root, *name.split("."))]
        sys.modules[module.__name__] = module
    sys.meta_path.insert(0, EmptyModules())
    return importlib.import_module("exllamav3.util.rope").RoPE


RoPE = _load()
MODULES = {"gemma3_text": ("gemma3", "Gemma3TextConfig"), "phi3": ("phi3", "Phi3Config"), "qwen3": ("qwen3", "Qwen3Config")}
MODULES |= {"llama": ("llama", "LlamaConfig"), "qwen2": ("qwen2", "Qwen2Config"), "mistral": ("mistral", "MistralConfig")}


def version():
    return importlib.metadata.version("exllamav3")


def ask(folder, _):
    module, cls = MODULES[json.loads((Path(folder) / "config.json").read_text())["model_type"]]
    config = getattr(importlib.import_module(f"exllamav3.architecture.{module}"), cls)(str(folder))
    settings = {"all": getattr(config, "rope_settings", None)}
    if module == "gemma3":
        settings = {"full_attention": config.rope_settings_global, "sliding_attention": config.rope_settings_local}
    ropes = {name: RoPE("cpu", s) for name, s in settings.items()}
    return {name: (rope.inv_freq.double().numpy(), float(rope.attn_factor)) for name, rope in ropes.items()}

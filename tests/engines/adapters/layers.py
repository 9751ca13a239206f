# SPDX-License-Identifier: MIT
"""Builds the attention layers of an engine's own model code with everything but the rotation left out.

vLLM and SGLang write the rotation into their model classes, and hand each a different part of the config. So the real
decoder layer is built from the real config; its matrices, norms and kernels, which want a GPU or a running server, are
empty modules.
"""

import contextlib
import enum
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

import torch


class Anything:
    """Whatever is asked of it."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, _):
        return Anything()

    def __call__(self, *_, **__):
        return Anything()

    def __bool__(self):
        return False


class Nothing(torch.nn.Module):
    """Takes any arguments, computes nothing."""

    def __init__(self, *_, **__):
        super().__init__()

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return Anything()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty classes under any name, for packages that a model's file imports and its rotation does not need."""

    def __init__(self, *packages):
        self.packages = [p for p in packages if importlib.util.find_spec(p) is None]

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module):
        module.__getattr__ = lambda name: type(name, (), {})

    def __enter__(self):
        sys.meta_path.append(self)

    def __exit__(self, *_):
        sys.meta_path.remove(self)
        for name in [n for n in sys.modules if n.split(".")[0] in self.packages]:
            del sys.modules[name]


def _one(*_, **__):
    return 1


def _zero(*_, **__):
    return 0


# How the engines ask how many processes there are, and which one this is.
ALONE = {
    "get_tensor_model_parallel_world_size": _one,
    "get_attention_tp_size": _one,
    "get_attention_tp_rank": _zero,
    "get_parallel": lambda: types.SimpleNamespace(
        tp_size=1, tp_rank=0, attn_tp_size=1, attn_tp_rank=0, attn_dcp_size=1, attn_dcp_rank=0, pp_size=1, pp_rank=0, dp_size=1
    ),
    "get_exec": lambda: types.SimpleNamespace(deterministic=types.SimpleNamespace(rl_on_policy_target=None)),
    "resolve_linear_parallel_group": lambda *_: (0, 1),
    "append_stages": lambda *_, **__: (None, None),
    "LayerCommunicator": Anything,
    "LayerScatterModes": Anything(),
}


@contextlib.contextmanager
def without_layers(engine, *modules):
    """In `modules`, the layers that come from elsewhere in `engine` are Nothing, and nobody shares the work."""
    saved = []
    for name in modules:
        module = importlib.import_module(name)
        for key, value in list(vars(module).items()):
            foreign = isinstance(value, type) and value.__module__.startswith(engine) and value.__module__ not in modules
            if foreign and not issubclass(value, enum.Enum) and (issubclass(value, torch.nn.Module) or ".layers." in value.__module__):
                saved.append((module, key, value))
                setattr(module, key, Nothing)
            elif key in ALONE:
                saved.append((module, key, value))
                setattr(module, key, ALONE[key])
    try:
        yield
    finally:
        for module, key, value in saved:
            setattr(module, key, value)


def unit_rotation(rotary, positions, pairs):
    """cos and sin of the first of `positions`, times the scale: what the rotation makes of (1, 0) in every pair."""
    ones = torch.cat([torch.ones(len(positions), pairs), torch.zeros(len(positions), pairs)], 1)
    forward = getattr(rotary, "forward_native", None) or rotary.forward
    out, _ = forward(torch.tensor(positions), ones.clone(), ones.clone())
    out = out.float().reshape(len(positions), 2 * pairs)[0]
    return out[:pairs].numpy(), out[pairs:].numpy()


def unit_rotation_of_text(rotary, positions, pairs):
    """The same with three positions per token, as text has them on models with sections."""
    ones = torch.zeros(len(positions), rotary.head_size)
    ones[:, :pairs] = 1
    forward = getattr(rotary, "forward_native", None) or rotary.forward
    out, _ = forward(torch.tensor([positions] * 3), ones.clone(), ones.clone())
    out = out.float().reshape(len(positions), -1)[0]
    return out[:pairs].numpy(), out[pairs : 2 * pairs].numpy()

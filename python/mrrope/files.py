# SPDX-License-Identifier: MIT
"""Model files: looked at, judged, extended, restored. The same code as the command line program."""

from __future__ import annotations

import os

from . import _core
from .errors import Error
from .sources import is_path, method_of, path_bytes, read, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    from .sources import Path, Source

    Side = Union[_core.Plan, _core.Effective, Source]


def inspect(model: Source, *, trained: int | str | None = None) -> _core.Model:
    """What a model is and how it rotates. Reads headers only: milliseconds for a file of any size.

    model    a .gguf (also the first of several shards), a Hugging Face folder or config.json; or a config
    trained  what it was really trained for, where its file says something else (Qwen 3: "32k", says 40960)
    """
    found = read(model, trained)
    _ = found.spec  # an unreadable rotation is said here, not at the first use
    return found


def doctor(model: Source, target: str | None = None) -> list[_core.Finding]:
    """What is wrong with a model file, by stable codes (docs/findings.md). A healthy file has no findings.

    target  an engine of engines(): also what that one does wrong with it, and nothing that concerns others only
    """
    return _core.diagnose(read(model), target or "")


def effective(model: Source, engine: str, context: int | str | None = None) -> _core.Effective:
    """What an engine will really do with a file: table, scale, usable length, what it ignores.

    engine   a name of engines(): "llama.cpp", "vllm", "transformers5", ...
    context  the length it is started with, where its choice depends on it; None: all it offers
    """
    return _core.effective(read(model), engine, context)


def _groups(side: Side) -> list[_core.EffectiveGroup]:
    if isinstance(side, _core.Plan):
        return _core.effective_groups(side)
    if not isinstance(side, _core.Effective):
        found = read(side)
        side = _core.effective(found, "llama.cpp" if found.format == "gguf" else "transformers5")
    if not side.loads:
        raise Error("the engine does not load it: " + " ".join(side.notes), "unsupported")
    return side.groups


def diff(a: Side, b: Side) -> list[_core.Difference]:
    """How far apart two tables are, one Difference per group of layers.

    a, b  a Plan, what effective() gives, or a model: a GGUF as llama.cpp runs it, a config as transformers 5 does
    """
    left, right = _groups(a), _groups(b)
    if len(left) != len(right):
        raise Error(f"a has {len(left)} groups of layers, b has {len(right)}", "inconsistent")
    return [_core.group_difference(one, other) for one, other in zip(left, right)]


def _opened(model: Path, dry_run: bool, trained: int | str | None = None) -> _core.Model:
    if not is_path(model):
        raise TypeError(f"expected a path, found {type(model).__name__}")
    path = path_bytes(model)
    if not dry_run and os.path.isfile(path):
        _core.recover(path)  # a change in place that was interrupted is undone first
    return _core.read_model(path, trained)


def extend(
    model: Path,
    context: int | str | None = None,
    method: _core.Method | str | None = None,
    *,
    trained: int | str | None = None,
    plan: _core.Plan | None = None,
    target: str | None = None,
    output: Path | None = None,
    in_place: bool = False,
    sidecar: bool = False,
    overwrite: bool = False,
    relabel: bool = False,
    copy: bool = False,
    any_factor: bool = False,
    dry_run: bool = False,
) -> _core.Extension:
    """Writes a longer context into a model, reads it back, and says what was done.

    A .gguf needs `output` (a copy), `in_place` or `sidecar`. In a Hugging Face folder config.json is replaced and the
    original stays beside it; with `output` a second folder links to the weights instead, or has copies of them
    (`copy`). undo() is the way back. What an engine would not obey is refused before a byte is written.

    context    the length wanted: 32768, "32k"
    method     as in plan(); None: the recommended one, or the nearest that the engine runs (the first note says so)
    trained    as in inspect()
    plan       instead of context and method; it must have been made for a model of this shape
    target     an engine of engines(); None: llama.cpp, or as many as one config.json can serve. "ollama" also writes a
               Modelfile
    output     the file or folder to write; with `sidecar` its folder
    in_place   change the .gguf itself
    sidecar    leave the .gguf alone, write a small second shard and a script that serves both
    overwrite  replace an existing output, of a sidecar only what mrrope wrote; in place: also a file with several names
               (hard links), with a sidecar, or that others may have open
    relabel    allow another architecture name with the same graph (docs/gguf.md)
    copy       copy the weights of a Hugging Face folder into `output`, do not link to them
    any_factor also more than 64 times the trained length
    dry_run    find out everything, write nothing
    """
    found = _opened(model, dry_run, trained)
    why = ""
    if plan is not None:
        if context is not None or method is not None:
            raise Error("a plan has its context and its method", "invalid argument", "plan")
    elif context is None:
        raise Error("say how long a text you want, or give a plan", "invalid argument", "context")
    elif method is None:
        plan, why = _core.choose(found, context, target or "", relabel)
    else:
        plan = _core.make_plan(found.spec, context, method_of(method), None, shown(model))
    where = b"" if output is None else path_bytes(output)
    return _core.extend_model(
        found, plan, target or "", where, in_place, sidecar, overwrite, relabel, copy, any_factor, dry_run, why
    )


def undo(
    model: Path,
    *,
    output: Path | None = None,
    in_place: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> _core.Extension:
    """Takes an extension back: a .gguf into `output` or in place, a Hugging Face folder where it is. The files of a
    sidecar are removed."""
    where = b"" if output is None else path_bytes(output)
    return _core.undo_extension(_opened(model, dry_run), where, in_place, overwrite, dry_run)


def hf_overrides(plan: _core.Plan, model: Source | None = None) -> dict[str, Any]:
    """What vLLM is to be told so that it runs a plan without a change of the file: the value of --hf-overrides.

        vllm serve MODEL --max-model-len 131072 --hf-overrides "$(python -c '...')"
        vllm.LLM(MODEL, max_model_len=plan.context, hf_overrides=mrrope.hf_overrides(plan, MODEL))

    model  its folder, config.json or config. None stands for a plain decoder such as Llama; a plan with several groups
           of layers (Gemma 3), a partly rotated head or a text model inside another one needs it
    """
    import json

    if model is None:
        if len(plan.groups) > 1:
            raise Error("the plan has several groups of layers; say which model", "invalid argument", "model")
        model = {
            "model_type": "llama",
            "head_dim": plan.spec.dim,
            "hidden_size": plan.spec.dim,
            "num_attention_heads": 1,
            "max_position_embeddings": plan.spec.context,
            "rope_theta": plan.spec.base,
        }
    overrides: dict[str, Any] = json.loads(_core.hf_overrides(plan, read(model)))
    return overrides

# SPDX-License-Identifier: MIT
"""A plan in a transformers model that is in memory, weights untouched.

Where a model keeps its table (transformers 4.57 and 5): in a module per model with
    inv_freq, attention_scaling, rope_type                       one table, or a module each for near and far layers
    <kind>_inv_freq, <kind>_attention_scaling, rope_type[kind]   a table per kind of layers (Gemma 3 since 5)
rope_type decides alone whether a forward computes the table anew ("dynamic", "longrope"), so it becomes "default".

The table becomes a plain attribute instead of a buffer: model.to(torch.bfloat16) would round a buffer by 3e-3, and
forward() moves whatever it finds to the device of its input. Every patched module is then asked for its angles, below
and beyond the trained length; one that does not give the plan's is an error, never a silent nothing.
"""

from __future__ import annotations

from . import _core
from .errors import Error
from .planning import plan as make_plan
from .planning import spec as spec_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from .sources import Path

# Angles of position 1 are at most 1 rad. In float32 the speed, the angle, its cosine and the scale are rounded by 2^-24
# each, 2.4e-7 together; as much again for libraries whose cosine is an ulp off.
_TOLERANCE = 5e-7
# Towers that look at pictures and sounds rotate on their own.
_OTHER_TOWERS = ("vision", "visual", "image", "audio")


class _Missing:
    """An attribute that was not there. A class, because copies and pickles of a model keep its identity."""


class Patch:
    """A plan that a model runs with, until undo(). Also a context manager, which undoes at its end.

    plan     what the model runs with
    modules  the names of the modules that hold its tables
    """

    plan: _core.Plan
    modules: list[str]

    def __init__(self, model: Any, plan: _core.Plan) -> None:
        self.plan = plan
        self.modules = []
        self._model = model
        self._saved: list[tuple[Any, str, Any, Any]] = []  # object, attribute, what it was, the buffer it was

    def undo(self) -> None:
        """The model is again as it was. A second call does nothing."""
        while self._saved:
            owner, name, value, buffer = self._saved.pop()
            if buffer is not None:
                delattr(owner, name)
                owner.register_buffer(name, buffer, persistent=False)
            elif value is _Missing:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<{self.plan!r} in {', '.join(self.modules)}>"

    def _save(self, save_directory: Path, *more: Any, **named: Any) -> None:
        from .saving import save

        save(self._model, self.plan, save_directory, *more, **named)

    def _set(self, owner: Any, name: str, value: Any) -> None:
        buffer = getattr(owner, "_buffers", {}).get(name)
        self._saved.append((owner, name, vars(owner).get(name, _Missing), buffer))
        if buffer is not None:
            delattr(owner, name)
        setattr(owner, name, value)


def patch(model: Any, plan: _core.Plan | _core.Ladder | int | str) -> Patch:
    """Puts a plan into a transformers model in memory; weights and files stay as they are.

    model  a model of transformers 4.57 or later, of any dtype and on any device
    plan   a Plan for a model of this shape, or the length wanted (the recommended plan is then made from model.config);
           or a Ladder: the table then grows with the text (LadderPatch)

    Returns a Patch with undo(), which is also a context manager:

        with mrrope.patch(model, "32k"):
            model.generate(**prompt, max_new_tokens=100)

    model.save_pretrained() writes the plan into config.json, as extend() does, so that whoever loads the folder gets the
    extended model (with a Ladder, or where a part of the model was patched: the trained one). model.config itself does
    not change: what asks it for the longest text gets the trained length, generate() beyond that needs max_new_tokens,
    and warns. A static cache that was filled before holds keys with the old rotation. Error: a model that is patched
    already, as a whole or in part, one whose rotary module is not understood, a plan for another.
    """
    config = getattr(model, "config", None)
    if config is None or not hasattr(model, "named_modules"):
        raise TypeError(f"expected a model of transformers, found {type(model).__name__}")
    if any("_mrrope_patch" in vars(module) for _, module in model.named_modules()):
        raise Error("this model is patched already; undo() that first", "inconsistent", "model")
    spec = spec_of(config)
    if isinstance(plan, _core.Ladder):
        from .climbing import LadderPatch

        for rung in plan.rungs:
            _core.check_fit(rung.plan, spec)
        return LadderPatch(model, plan)
    if not isinstance(plan, _core.Plan):
        plan = make_plan(spec, plan)
    _core.check_fit(plan, spec)
    done = put(model, plan)
    done._set(model, "_mrrope_patch", done)
    if hasattr(model, "save_pretrained"):
        done._set(model, "save_pretrained", done._save)
    return done


def put(model: Any, plan: _core.Plan) -> Patch:
    """The plan in every rotary module of the model. Domain: the plan fits it."""
    if plan.method.depends_on_length:
        message = f"{plan.method.name} has a table per length of text; one table is put into the model"
        raise Error(message + ". Choose another method, or let the config say it (extend)", "unsupported", "plan")
    done = Patch(model, plan)
    try:
        for name, module in rotary_modules(model):
            _patch_module(done, name, module)
        if not done.modules:
            raise Error(
                f"no rotary module was found in {type(model).__name__}: one with inv_freq, attention_scaling and "
                "rope_type was expected, as in transformers 4.57 and later",
                "unsupported",
                "model",
            )
    except BaseException:
        done.undo()
        raise
    return done


def rotary_modules(model: Any) -> list[tuple[str, Any]]:
    """Modules with a table, by name. A module that has one and is not understood is an error."""
    found = []
    for name, module in model.named_modules():
        own = set(module._buffers) | set(vars(module))
        if not any(key == "inv_freq" or key.endswith("_inv_freq") for key in own):
            continue
        if any(word in part for part in name.lower().split(".") for word in _OTHER_TOWERS):
            continue
        by_kind = isinstance(getattr(module, "rope_type", None), dict)
        if not by_kind and not {"inv_freq", "attention_scaling", "rope_type"} <= own:
            raise Error(
                f"{name} ({type(module).__name__}) has a rotary table, but not as transformers 4.57 and later keep it "
                "(inv_freq, attention_scaling, rope_type): this model's own code would have to be changed",
                "unsupported",
                "model",
            )
        found.append((name, module))
    return found


def tables(model: Any) -> list[tuple[list[float], float]]:
    """Speeds and scale that the model rotates with now, for each kind of its layers."""
    found = []
    for _, module in rotary_modules(model):
        for kind in module.rope_type if isinstance(module.rope_type, dict) else ("",):
            inv_freq, scale = (getattr(module, f"{kind}_{name}" if kind else name) for name in ("inv_freq", "attention_scaling"))
            found.append((inv_freq.double().cpu().tolist(), float(scale)))
    return found


def own_tables(model: Any, plan: _core.Plan) -> dict[str, tuple[Any, float]]:
    """Speeds and scale that the model rotates with now, by the groups of a plan that it extends."""
    found = {}
    for name, module in rotary_modules(model):
        for kind, group in _kinds(plan, name, module).items():
            prefix = f"{kind}_" if kind else ""
            speeds = getattr(module, f"{prefix}inv_freq").detach().double().cpu()
            found[group.name] = speeds, float(getattr(module, f"{prefix}attention_scaling"))
    return found


def _kinds(plan: _core.Plan, name: str, module: Any) -> dict[str, _core.PlanGroup]:
    """What a plan extends of a module, by kind of layers."""
    groups = {group.name: group for group in plan.groups}
    if isinstance(module.rope_type, dict):
        unknown = set(module.rope_type) - set(groups)
        if unknown:
            raise Error(f"{name} has layers that the plan does not know: {sorted(unknown)}", "inconsistent", "plan")
        kinds = {kind: groups[kind] for kind in module.rope_type}
    elif name.endswith("rotary_emb_local"):  # Gemma 3 in transformers 4: a module of its own for sliding windows
        kinds = {}
    else:
        kinds = {"": groups.get(name.rpartition(".")[2], plan.groups[0])}
    return {kind: group for kind, group in kinds.items() if group.extended}


def _patch_module(done: Patch, name: str, module: Any) -> None:
    changed = _kinds(done.plan, name, module)
    for kind, group in changed.items():
        _set_table(done, module, kind, group)
    for kind, group in changed.items():
        _verify(done.plan, name, module, kind, group)
    if changed:
        done.modules.append(name)
        done._set(module, "_mrrope_patch", done)  # whatever else it is a part of is patched, too


def _set_table(done: Patch, module: Any, kind: str, group: _core.PlanGroup) -> None:
    import torch

    prefix = f"{kind}_" if kind else ""
    old = getattr(module, f"{prefix}inv_freq")
    if tuple(old.shape) != group.inv_freq.shape:
        message = f"the model rotates {tuple(old.shape)} pairs, the plan {group.inv_freq.shape}"
        raise Error(message, "inconsistent", "plan")
    # A copy in float32, of a view that numpy must not let torch write to
    table = torch.tensor(group.inv_freq.astype("float32"), device=old.device)
    done._set(module, f"{prefix}inv_freq", table)
    done._set(module, f"{prefix}attention_scaling", group.attention_scale)
    done._set(module, "rope_type", {**module.rope_type, kind: "default"} if kind else "default")


def _verify(plan: _core.Plan, name: str, module: Any, kind: str, group: _core.PlanGroup) -> None:
    """The module's own forward, at position 1: after a far position that would make it choose another table."""
    import torch

    device = getattr(module, f"{kind}_inv_freq" if kind else "inv_freq").device
    hidden = torch.zeros(1, 1, dtype=torch.float32, device=device)  # cos and sin come in its dtype
    positions = torch.tensor([[1, plan.context - 1]], device=device)
    kinds = [kind] if kind else []
    try:
        try:
            cos, sin = module(hidden, positions, *kinds)
        except (IndexError, RuntimeError, ValueError):  # M-RoPE in transformers 4: of time, height and width
            cos, sin = module(hidden, positions.expand(3, 1, 2), *kinds)
        error = min(_angle_error(group, cos, sin, layout) for layout in ("half-split", "interleaved"))
    except Exception as problem:  # pylint: disable=broad-except  # anything: the module is not one that we know
        message = f"{name} ({type(module).__name__}) could not be asked for its angles: {problem}"
        raise Error(message, "unsupported", "model") from problem
    if not error <= _TOLERANCE:
        message = f"{name} ({type(module).__name__}) does not follow its table: its angles are {error:.1e} off"
        raise Error(message, "unsupported", "model")


def _angle_error(group: _core.PlanGroup, cos: Any, sin: Any, layout: str) -> float:
    import torch

    theta = torch.tensor(group.inv_freq.copy(), dtype=torch.float64, device="cpu")
    step = 2 if layout == "interleaved" else 1  # each angle twice in a row (Cohere), or all of them twice
    error = 0.0
    for part, exact in ((cos, torch.cos(theta)), (sin, torch.sin(theta))):
        first = part[..., 0, :].reshape(-1).double().cpu()[::step][: len(theta)]
        error = max(error, float((first / group.attention_scale - exact).abs().max()))
    return error

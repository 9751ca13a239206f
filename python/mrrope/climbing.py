# SPDX-License-Identifier: MIT
"""A ladder in a transformers model that is in memory: the table grows with the text.

Each forward pass runs under the lowest rung that holds the text as far as the pass reaches; beyond the last rung its
table stays. Cached keys that another rung rotated are turned first, where they lie (docs/theory.md, [T37]), and nothing
is computed again. The hooks are those of the module that holds the rotary embedding, so whoever calls a part of the
model, or generate(), climbs too.

How a model lays out its pairs is found out by trying: a few tokens under the first and the last rung, and the turn that
makes the one's first keys the other's. A model in which none does cannot climb.
"""

from __future__ import annotations

import threading

from . import _core
from .errors import Error
from .patching import Patch, put, rotary_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Layers of a cache whose keys are a tensor (rows, heads, tokens, head) in the order of the text.
_PLAIN_LAYERS = {"DynamicLayer", "StaticLayer"}


class LadderPatch(Patch):
    """A ladder that a model climbs, until undo(). Also a context manager, which undoes at its end.

    ladder   what the model climbs
    rung     the rung that is in it now: that of the last forward pass
    plan     its plan
    modules  the names of the modules that hold the tables

    Inside the trained length the model computes what it computed before. A cache goes on beyond its rung. Threads take
    turns, a forward pass at a time. Error: a cache that cannot be turned (quantized, offloaded, a class that is not
    known, one that was filled before the patch), and a model that cannot climb.
    """

    ladder: _core.Ladder

    def __init__(self, model: Any, ladder: _core.Ladder) -> None:
        super().__init__(model, ladder.rungs[0].plan)
        self.ladder = ladder
        self._place = 0  # of the rung that is in the model
        self._put: Patch | None = None  # None: the model as it is
        self._lock = _Lock()
        self._hooks: list[Any] = []
        self._names: list[str] = []  # of the arguments of whoever has the hooks
        self._layout: _Layout | None = None  # None: no turn is needed
        try:
            self._try_every_rung()
            holder = self._find_holder()
            if len(ladder.rungs) > 1:
                self._layout = self._find_layout(holder)
            self._take_over(holder)
        except BaseException:
            self.undo()
            raise

    @property
    def rung(self) -> _core.Rung:
        return self.ladder.rungs[self._place]

    def undo(self) -> None:
        """The model is again as it was. A second call does nothing. Waits for a forward pass of another thread."""
        with self._lock.lock:
            self._leave()
            while self._hooks:
                self._hooks.pop().remove()
            super().undo()

    def __enter__(self) -> LadderPatch:
        return self

    def __repr__(self) -> str:
        return f"<{self.ladder!r} in {', '.join(self.modules)}, at {self.rung.name}>"

    def _find_holder(self) -> Any:
        import inspect  # a third of the time that the whole package takes to import

        model = self._model
        names = [name.rpartition(".")[0] for name, _ in rotary_modules(model)]
        holders = {id(holder): holder for holder in map(model.get_submodule, names)}
        if len(holders) != 1:
            raise _unknown(model, f"{len(holders)} modules hold rotary embeddings")
        holder = next(iter(holders.values()))
        self._names = list(inspect.signature(holder.forward).parameters)
        if not {"inputs_embeds", "position_ids", "past_key_values"} <= set(self._names):
            raise _unknown(model, f"{type(holder).__name__} takes {', '.join(self._names)}")
        return holder

    def _take_over(self, holder: Any) -> None:
        for _, module in rotary_modules(self._model):
            self._set(module, "_mrrope_patch", self)
        self._set(self._model, "_mrrope_patch", self)
        self._hooks.append(holder.register_forward_pre_hook(self._before, with_kwargs=True))
        self._hooks.append(holder.register_forward_hook(self._after, with_kwargs=True, always_call=True))

    # ---- Rungs -----------------------------------------------------------------------------------------------------

    def _try_every_rung(self) -> None:
        """What cannot be patched is refused now, not when the first long text comes."""
        for place in range(len(self.ladder.rungs)):
            self._climb(place)
            if self._put is not None:
                self.modules = self._put.modules
        self._climb(0)

    def _climb(self, place: int) -> None:
        if place == self._place and (self._put is not None or _as_it_is(self.plan)):
            return
        self._leave()
        plan = self.ladder.rungs[place].plan
        if not _as_it_is(plan):
            self._put = put(self._model, plan)
        self._place = place
        self.plan = plan

    def _leave(self) -> None:
        if self._put is not None:
            self._put.undo()
            self._put = None

    def _place_for(self, tokens: int) -> int:
        rungs = self.ladder.rungs
        return next((place for place, rung in enumerate(rungs) if tokens <= rung.length), len(rungs) - 1)

    def _find_layout(self, holder: Any) -> _Layout:
        """The layout in which the turn of the first layer's keys from the first to the last rung is exact."""
        import torch

        device = next(self._model.parameters()).device
        positions = torch.tensor([[0, 1, self.ladder.rungs[0].length // 2]], device=device)
        tokens = torch.zeros_like(positions)

        def keys_under(place: int) -> Any:
            self._climb(place)
            with torch.no_grad():
                cache = holder(input_ids=tokens, position_ids=positions, use_cache=True).past_key_values
            return next(layer.keys for _, layer in self._turning(cache))

        training = holder.training
        holder.eval()
        try:
            first, last = (keys_under(place).double().cpu() for place in (0, len(self.ladder.rungs) - 1))
        except (AttributeError, StopIteration, TypeError) as problem:
            raise _unknown(self._model, f"its cache has no keys that could be turned ({problem})") from problem
        finally:
            holder.train(training)
            self._climb(0)
        # Tables, angles and products are rounded in the type of the model, a few times each
        dtype = next(self._model.parameters()).dtype
        tolerance = 16 * torch.finfo(dtype).eps * float(last.abs().max())
        group = next(index for index, group in enumerate(self.plan.groups) if group.extended)
        turn = _turn(self.ladder.rungs[0].plan, self.ladder.rungs[-1].plan, group)
        for layout in (_Layout(halves, last_dims) for halves in (True, False) for last_dims in (False, True)):
            turned = first.clone()
            layout.turn(turned, positions.cpu(), *turn)
            if float((turned - last).abs().max()) <= tolerance:
                return layout
        raise _unknown(self._model, "no turn makes its cached keys those of another table")

    # ---- Calls -----------------------------------------------------------------------------------------------------

    def _before(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call = dict(zip(self._names, args), **kwargs)
        if call.get("cache") is not None:
            message = "continuous batching runs texts of several rungs at once; use generate()"
            raise Error(message, "unsupported", "model")
        self._lock.lock.acquire()
        try:
            self._lock.positions = _positions(call)
            place = self._place_for(int(self._lock.positions.max()) + 1)
            self._turn_cache(call.get("past_key_values"), self.ladder.rungs[place].plan)
            self._climb(place)
        except BaseException:
            self._lock.lock.release()
            raise

    def _after(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if not self._lock.mine():
            return  # _before refused, or undo() and a new patch came in between
        try:
            given = dict(zip(self._names, args), **kwargs).get("past_key_values")
            parts = output if isinstance(output, tuple) else (getattr(output, "past_key_values", None),)
            for cache in {id(c): c for c in (given, *parts) if hasattr(c, "get_seq_length")}.values():
                _mark(cache, self.plan, self._lock.positions)
        finally:
            self._lock.lock.release()

    # ---- Keys ------------------------------------------------------------------------------------------------------

    def _turning(self, cache: Any) -> Iterator[tuple[int, Any]]:
        """Group and layer of the cache's layers that have keys which a plan turns."""
        layers = getattr(cache, "layers", None)
        if layers is None or getattr(cache, "offloading", False):
            raise _cannot_turn(type(cache).__name__)
        groups = self.plan.groups
        for index, layer in enumerate(layers):
            group = _group_of(groups, index)
            if group is None or not groups[group].extended or getattr(layer, "keys", None) is None:
                continue
            if type(layer).__name__ not in _PLAIN_LAYERS:
                raise _cannot_turn(type(layer).__name__)
            yield group, layer

    def _turn_cache(self, cache: Any, plan: _core.Plan) -> None:
        held = _held(cache)
        if held == 0:
            return
        mark = getattr(cache, "_mrrope_keys", None)
        if mark is None:
            message = "the keys in this cache were rotated without this ladder: leave past_key_values out, and the text is read again"
            raise Error(message, "inconsistent", "past_key_values")
        mark.positions = mark.positions[:, :held]  # it may have been cropped
        if mark.plan == plan or self._layout is None:
            return
        turns: dict[int, tuple[Any, float]] = {}
        for group, layer in list(self._turning(cache)):  # all of them are looked at before one is turned
            if group not in turns:
                turns[group] = _turn(mark.plan, plan, group)
            self._layout.turn(layer.keys, mark.positions, *turns[group])
        mark.plan = plan


class _Layout:
    """Where the pairs of a head lie: i and i + n, or 2i and 2i + 1; in its first dimensions, or in its last."""

    def __init__(self, halves: bool, last: bool) -> None:
        self.halves = halves
        self.last = last

    def turn(self, keys: Any, positions: Any, speeds: Any, scale: float) -> None:
        """In place. positions: (rows or 1, tokens); tokens of `keys` beyond them are left alone."""
        import torch

        tokens = positions.shape[1]
        if tokens > keys.shape[-2] or positions.shape[0] not in (1, keys.shape[0]):
            raise Error(
                f"the cache has keys of {tuple(keys.shape)}, and tokens at positions of {tuple(positions.shape)}",
                "inconsistent",
                "past_key_values",
            )
        angles = positions[:, None, :, None].double().cpu() * speeds
        wide = torch.float64 if keys.dtype == torch.float64 else torch.float32
        cos, sin = ((f(angles) * scale).to(wide).to(keys.device) for f in (torch.cos, torch.sin))
        dims = 2 * speeds.shape[0]
        part = keys[:, :, :tokens, keys.shape[-1] - dims :] if self.last else keys[:, :, :tokens, :dims]
        a, b = (part[..., : dims // 2], part[..., dims // 2 :]) if self.halves else (part[..., ::2], part[..., 1::2])
        x, y = a.to(wide), b.to(wide)
        with torch.no_grad():
            a.copy_(x * cos - y * sin)
            b.copy_(y * cos + x * sin)


def _turn(old: _core.Plan, new: _core.Plan, group: int) -> tuple[Any, float]:
    import torch

    a, b = old.groups[group], new.groups[group]
    return torch.tensor(b.inv_freq - a.inv_freq, dtype=torch.float64), b.attention_scale / a.attention_scale


class _Keys:
    """What the keys in a cache were rotated by."""

    def __init__(self, plan: _core.Plan, positions: Any) -> None:
        self.plan = plan
        self.positions = positions  # (rows or 1, tokens)


class _Lock:
    """One forward pass at a time, and the positions of its tokens."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.positions: Any = None

    def __reduce__(self) -> tuple[type[_Lock], tuple[()]]:
        return _Lock, ()  # with a copy of the model nobody computes

    def mine(self) -> bool:
        return self.lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks it


def _as_it_is(plan: _core.Plan) -> bool:
    return str(plan.method) == "none"


def _group_of(groups: list[_core.PlanGroup], layer: int) -> int | None:
    """The group that names the layer, else the one that names none."""
    named = next((index for index, group in enumerate(groups) if layer in group.layers), None)
    return named if named is not None else next((index for index, group in enumerate(groups) if not group.layers), None)


def _unknown(model: Any, found: str) -> Error:
    message = f"{type(model).__name__} cannot climb: {found}; patch it with one plan"
    return Error(message, "unsupported", "model")


def _cannot_turn(name: str) -> Error:
    return Error(f"the keys of a {name} cannot be turned: climb with a DynamicCache or a StaticCache", "unsupported", "past_key_values")


def _held(cache: Any) -> int:
    """Tokens in a cache."""
    if cache is None:
        return 0
    if not hasattr(cache, "get_seq_length"):
        raise _cannot_turn(type(cache).__name__)  # tuples of transformers 4
    return int(cache.get_seq_length())


def _positions(call: dict[str, Any]) -> Any:
    """Of the tokens of a forward pass: (rows, tokens), one row where all are alike."""
    import torch

    positions = call.get("position_ids")
    if positions is None:
        given = call["inputs_embeds"] if call.get("inputs_embeds") is not None else call["input_ids"]
        held = _held(call.get("past_key_values"))
        return torch.arange(held, held + int(given.shape[1]))[None]
    if positions.dim() == 3:  # of time, height and width: the same for text
        if not bool((positions == positions[:1]).all()):
            raise Error("pictures have positions that cannot be turned", "unsupported", "position_ids")
        positions = positions[0]
    positions = positions.detach().cpu()
    return positions[:1] if bool((positions == positions[:1]).all()) else positions


def _mark(cache: Any, plan: _core.Plan, positions: Any) -> None:
    import torch

    old = getattr(cache, "_mrrope_keys", None)
    held = _held(cache)
    if old is None or held <= positions.shape[1]:
        cache._mrrope_keys = _Keys(plan, positions[:, -held:] if held else positions)
        return
    before = old.positions[:, : held - positions.shape[1]]
    rows = max(before.shape[0], positions.shape[0])
    cache._mrrope_keys = _Keys(plan, torch.cat([before.expand(rows, -1), positions.expand(rows, -1)], dim=1))

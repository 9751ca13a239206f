# SPDX-License-Identifier: MIT
"""A ladder in a transformers model that is in memory: the table grows with the text.

Each forward pass runs under the lowest rung that holds the text as far as the pass reaches; beyond the last rung its
table stays. Cached keys that another rung rotated are turned first, where they lie (docs/theory.md, [T37]), and nothing
is computed again. It is forward() of the module that holds the rotary embedding which does that, so whoever calls a part
of the model, or generate(), climbs too.

How a model lays out its pairs is found out by trying: a few tokens under the first and the last rung, and the turn that
makes the one's first keys the other's. A model in which none does cannot climb.
"""

from __future__ import annotations

import inspect
import threading

from . import _core
from .errors import Error
from .patching import Patch, own_tables, put, rotary_modules

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

    A text that has not left the trained length is computed as before. A cache goes on beyond its rung. Threads take turns,
    a forward pass at a time. Error: a cache that cannot be turned (quantized, offloaded, a class that is not known, one that
    was filled before the patch), and a model that cannot climb.
    """

    ladder: _core.Ladder

    def __init__(self, model: Any, ladder: _core.Ladder) -> None:
        super().__init__(model, ladder.rungs[0].plan)
        self.ladder = ladder
        self._place = 0  # of the rung that is in the model
        self._put: Patch | None = None  # None: the model as it is
        self._lock = _Lock()
        self._layout: _Layout | None = None  # None: no turn is needed
        self._own: dict[str, tuple[Any, float]] = {}  # speeds and scale of the model as it is, by group
        try:
            self._try_every_rung()
            self._holder = self._find_holder()
            self._names = list(inspect.signature(self._holder.forward).parameters)
            if len(ladder.rungs) > 1:
                self._layout = self._find_layout()
            self._leave()  # what a rung marks lies over our marks, and goes before them
            for _, module in rotary_modules(model):
                self._set(module, "_mrrope_patch", self)
            self._set(model, "_mrrope_patch", self)
            self._inner = vars(self._holder).get("forward")  # in the place of the class's
            self._set(self._holder, "forward", self._forward)
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
            super().undo()

    def __enter__(self) -> LadderPatch:
        return self

    def __repr__(self) -> str:
        return f"<{self.ladder!r} in {', '.join(self.modules)}, at {self.rung.name}>"

    def _find_holder(self) -> Any:
        model = self._model
        names = [name.rpartition(".")[0] for name, _ in rotary_modules(model)]
        holders = {id(holder): holder for holder in map(model.get_submodule, names)}
        if len(holders) != 1:
            raise _unknown(model, f"{len(holders)} modules hold rotary embeddings")
        holder = next(iter(holders.values()))
        names = list(inspect.signature(holder.forward).parameters)
        if not {"inputs_embeds", "position_ids", "past_key_values"} <= set(names):
            raise _unknown(model, f"{type(holder).__name__} takes {', '.join(names)}")
        return holder

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

    def _find_layout(self) -> _Layout | None:
        """The layout in which the turn of the first layer's keys from the first rung to the one that differs most is exact."""
        import torch

        plans = [rung.plan for rung in self.ladder.rungs]

        def turns(plan: _core.Plan) -> float:
            return max(float(abs(b.inv_freq - a.inv_freq).max()) for a, b in zip(plans[0].groups, plan.groups) if b.extended)

        far = max(range(len(plans)), key=lambda place: turns(plans[place]))
        fastest = turns(plans[far])
        if fastest == 0:
            return None
        step = max(1, round(1 / fastest))  # where the pair that turns most turns by about a radian, or less
        device = next(self._model.parameters()).device
        positions = torch.tensor([[step, 2 * step, 3 * step, 4 * step]], device=device)
        tokens = torch.tensor([[7, 11, 13, 17]], device=device)  # no padding, whose embedding may be 0

        def keys_under(place: int) -> tuple[int, Any]:
            self._climb(place)
            with torch.no_grad():
                cache = self._holder(input_ids=tokens, position_ids=positions, use_cache=True).past_key_values
            if self._put is None:  # not the plan's: model.to(torch.float16) rounds the table that a model was trained with
                self._own = own_tables(self._model, self.plan)
            group, layer = next(self._turning(cache))
            return group, layer.keys.double().cpu()

        modes = [(part, part.training) for part in self._holder.modules()]
        self._holder.eval()
        as_it_is = [place for place, plan in enumerate(plans) if _as_it_is(plan)][:1]
        try:
            keys = {place: keys_under(place) for place in dict.fromkeys([*as_it_is, 0, far])}
            (group, first), (_, last) = keys[0], keys[far]
        except (AttributeError, RuntimeError, StopIteration, TypeError) as problem:
            raise _unknown(self._model, f"its cache has no keys that could be turned ({problem})") from problem
        finally:
            for part, training in modes:
                part.training = training
            self._climb(0)
        if first.shape[-1] < 2 * len(self.plan.groups[group].inv_freq):
            raise _unknown(self._model, f"its cache has {first.shape[-1]} numbers where a key was expected")
        layouts = [_Layout(halves, end) for halves in (True, False) for end in ((False, True) if self._partial(first) else (False,))]
        errors = {layout: layout.error(first, last, positions.cpu(), *self._turn(plans[0], plans[far], group)) for layout in layouts}
        best, other = sorted(errors, key=lambda layout: errors[layout])[:2]
        # Cosines, products and sums of two rotations are rounded in the type of the model; the float32 angle of the last
        # position is a product of at most 4 * step radians
        dtype = next(self._model.parameters()).dtype
        tolerance = 8 * torch.finfo(dtype).eps + 4 * step * 2.0**-22
        if errors[best] > tolerance or errors[other] < 4 * errors[best]:
            raise _unknown(self._model, "no turn makes its cached keys those of another table")
        return best

    def _partial(self, keys: Any) -> bool:
        return any(2 * len(group.inv_freq) < keys.shape[-1] for group in self.plan.groups)

    # ---- Calls -----------------------------------------------------------------------------------------------------

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        """forward() of the module that holds the rotary embedding, under the rung that the pass reaches."""
        inner = self._inner or type(self._holder).forward.__get__(self._holder)
        call = dict(zip(self._names, args), **kwargs)
        if call.get("cache") is not None:
            message = "continuous batching runs texts of several rungs at once; use generate()"
            raise Error(message, "unsupported", "model")
        with self._lock.lock:
            positions = _positions(call)
            place = self._place_for(int(positions.max()) + 1)
            self._turn_cache(call.get("past_key_values"), self.ladder.rungs[place].plan)
            self._climb(place)
            output = inner(*args, **kwargs)
            parts = output if isinstance(output, tuple) else (getattr(output, "past_key_values", None),)
            caches = (call.get("past_key_values"), *parts)
            for cache in {id(c): c for c in caches if hasattr(c, "get_seq_length")}.values():
                _mark(cache, self.plan, positions)
            return output

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

    def _turn(self, old: _core.Plan, new: _core.Plan, group: int) -> tuple[Any, float]:
        """By how much keys turn from one plan to another, and by what they are multiplied."""
        (slow, small), (fast, large) = (self._table(plan, group) for plan in (old, new))
        return fast - slow, large / small

    def _table(self, plan: _core.Plan, index: int) -> tuple[Any, float]:
        import torch

        group = plan.groups[index]
        if _as_it_is(plan):
            return self._own[group.name]
        return torch.tensor(group.inv_freq.astype("float32")).double(), group.attention_scale

    def _turn_cache(self, cache: Any, plan: _core.Plan) -> None:
        held = _held(cache)
        if held == 0:
            return
        mark = getattr(cache, "_mrrope_keys", None)
        if mark is None or mark.plan is None or mark.positions.shape[1] < held:
            message = "the keys in this cache were not all rotated by this ladder: leave past_key_values out, and the text is read again"
            raise Error(message, "inconsistent", "past_key_values")
        mark.positions = mark.positions[:, :held]  # it may have been cropped
        old = mark.plan
        if old == plan or self._layout is None:
            return
        turning = list(self._turning(cache))  # all of them are looked at before one is turned
        turns = {group: self._turn(old, plan, group) for group, _ in turning}
        mark.plan = None  # until all are turned: an error half-way leaves a cache that nothing can go on with
        for group, layer in turning:
            self._layout.turn(layer.keys, mark.positions, *turns[group])
        mark.plan = plan


class _Layout:
    """Where the pairs of a head lie: i and i + n, or 2i and 2i + 1; in its first dimensions, or in its last."""

    def __init__(self, halves: bool, last: bool) -> None:
        self.halves = halves
        self.last = last

    def pairs(self, keys: Any, dims: int) -> tuple[Any, Any]:
        part = keys[..., keys.shape[-1] - dims :] if self.last else keys[..., :dims]
        return (part[..., : dims // 2], part[..., dims // 2 :]) if self.halves else (part[..., ::2], part[..., 1::2])

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
        a, b = self.pairs(keys[:, :, :tokens], 2 * speeds.shape[0])
        with torch.no_grad():
            x, y = a.to(wide), b.to(wide)
            turned = x * cos - y * sin, y * cos + x * sin
            a.copy_(turned[0])
            b.copy_(turned[1])

    def error(self, first: Any, last: Any, positions: Any, speeds: Any, scale: float) -> float:
        """How far the turn of `first` is from `last`, relative to the length of each pair."""
        turned = first.clone()
        self.turn(turned, positions, speeds, scale)
        (a, b), (x, y) = self.pairs(turned, 2 * speeds.shape[0]), self.pairs(last, 2 * speeds.shape[0])
        lengths = (x.square() + y.square()).sqrt()
        distances = ((a - x).square() + (b - y).square()).sqrt()
        seen = lengths > 0.1 * float(lengths.max())  # of shorter ones float16 keeps fewer digits
        return float((distances[seen] / lengths[seen]).max()) if bool(seen.any()) else float("inf")


class _Keys:
    """What the keys in a cache were rotated by; plan is None where only some of them were turned."""

    def __init__(self, plan: _core.Plan | None, positions: Any) -> None:
        self.plan = plan
        self.positions = positions  # (rows or 1, tokens)


class _Lock:
    """One forward pass at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type[_Lock], tuple[()]]:
        return _Lock, ()  # with a copy of the model nobody computes


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

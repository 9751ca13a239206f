# SPDX-License-Identifier: MIT
"""A ladder in a transformers model that is in memory: every text under the lowest rung that holds it.

generate() knows how long an answer may become, so it chooses, and the rung stays until it returns. A forward pass by
itself (perplexity, training) takes the rung of its own length. Both pass the module that holds the rotary embedding,
which therefore has the hooks: whoever calls a part of the model passes it, too.

Keys in a cache are rotated, and belong to the rung that rotated them. A cache is marked with its plan when it is
filled, and whoever comes back with it gets that rung, or an error if the text has outgrown it: the wrong rung would
give wrong answers without a word.
"""

from __future__ import annotations

import threading

from . import _core
from .errors import Error, TooLong
from .patching import Patch, put, rotary_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What GenerationConfig of transformers 4 says where nobody has said anything.
_UNSAID_MAX_LENGTH = 20


class LadderPatch(Patch):
    """A ladder that a model runs with, until undo(). Also a context manager, which undoes at its end.

    ladder   what the model runs with
    rung     the rung that is in it now: that of the last text
    plan     its plan
    modules  the names of the modules that hold the tables

    generate() counts the prompt (its longest row, without what the attention mask hides) and max_new_tokens or
    max_length; if nothing limits the answer, it gets the reserve of the ladder, or what is left of the last rung.
    TooLong: a text beyond the last rung; a cache whose keys belong to a rung that the text has outgrown, or to none of
    this ladder. One text or batch at a time: a second thread is refused while the first one runs.
    """

    ladder: _core.Ladder

    def __init__(self, model: Any, ladder: _core.Ladder) -> None:
        super().__init__(model, ladder.rungs[0].plan)
        self.ladder = ladder
        self._place = 0  # of the rung that is in the model
        self._put: Patch | None = None  # None: the model as it is
        self._thread: int | None = None  # that is computing
        self._generating = False
        self._hooks: list[Any] = []
        self._names: list[str] = []  # of the arguments of whoever has the hooks
        self._own_generate = vars(model).get("generate")  # in the place of the class's
        try:
            self._try_every_rung()
            self._take_over()
        except BaseException:
            self.undo()
            raise

    @property
    def rung(self) -> _core.Rung:
        return self.ladder.rungs[self._place]

    def undo(self) -> None:
        """The model is again as it was. A second call does nothing."""
        self._leave()
        while self._hooks:
            self._hooks.pop().remove()
        super().undo()

    def __enter__(self) -> LadderPatch:
        return self

    def __repr__(self) -> str:
        return f"<{self.ladder!r} in {', '.join(self.modules)}, at {self.rung.name}>"

    def _take_over(self) -> None:
        import inspect  # a third of the time that the whole package takes to import

        model = self._model
        found = rotary_modules(model)
        holders = {id(holder): holder for holder in (_holder(model, name) for name, _ in found)}
        if len(holders) != 1:
            raise _unknown(model, f"{len(holders)} modules hold rotary embeddings")
        holder = next(iter(holders.values()))
        self._names = list(inspect.signature(holder.forward).parameters)
        if not {"inputs_embeds", "position_ids", "past_key_values"} <= set(self._names):
            raise _unknown(model, f"{type(holder).__name__} takes {', '.join(self._names)}")
        for _, module in found:
            self._set(module, "_mrrope_patch", self)
        self._set(model, "_mrrope_patch", self)
        if hasattr(model, "generate"):
            self._set(model, "generate", self._generate)
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

    def _place_for(self, prompt: int, answer: int, cache: Any) -> int:
        """Of the rung that takes a text whose beginning may be in a cache."""
        total = prompt + answer
        rungs = self.ladder.rungs
        lowest = next((place for place, rung in enumerate(rungs) if total <= rung.length), None)
        if lowest is None:
            said = f"{total} tokens" if answer == 0 else f"a prompt of {prompt} tokens and an answer of up to {answer}"
            raise TooLong(
                f"{said} fit no rung of this ladder, whose last takes {rungs[-1].length} together. Ask for less, or "
                "make a ladder that reaches further: mrrope.ladder(model.config, ...)"
            )
        if _held(cache) == 0:
            return lowest
        mark = getattr(cache, "_mrrope_plan", None)
        place = next((place for place, rung in enumerate(rungs) if mark is not None and rung.plan == mark), None)
        again = f"Leave past_key_values out: the text is then computed again, once, under rung {rungs[lowest].name}"
        if place is None:
            raise TooLong(f"the keys in this cache belong to no rung of this ladder. {again}", "past_key_values")
        if total > rungs[place].length:
            raise TooLong(
                f"the keys in this cache belong to rung {rungs[place].name}, which takes {rungs[place].length} tokens, "
                f"and {total} are asked for. {again}",
                "past_key_values",
            )
        return place

    # ---- Calls -----------------------------------------------------------------------------------------------------

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        """generate() of the model, under the rung that prompt and answer need."""
        inner = self._own_generate or type(self._model).generate.__get__(self._model)
        prompt, columns = _prompt(args[0] if args else kwargs.get("inputs"), kwargs)
        config = args[1] if len(args) > 1 else kwargs.get("generation_config")
        answer = _answer((kwargs, config, getattr(self._model, "generation_config", None)), columns)
        if answer is None:  # the reserve, which yields on the last rung
            answer = min(self.ladder.reserve, max(1, self.ladder.rungs[-1].length - prompt))
            kwargs["max_new_tokens"] = answer
        self._begin()
        try:
            self._climb(self._place_for(prompt, answer, kwargs.get("past_key_values")))
            self._generating = True
            return inner(*args, **kwargs)
        finally:
            self._generating = False
            self._thread = None

    def _before(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call = dict(zip(self._names, args), **kwargs)
        if call.get("cache") is not None:
            message = "continuous batching runs texts of several rungs at once; use generate()"
            raise Error(message, "unsupported", "model")
        cache = call.get("past_key_values")
        if not self._generating or self._thread != threading.get_ident():
            self._begin()
            try:
                self._climb(self._place_for(_reach(call), 0, cache))
            except BaseException:
                self._thread = None
                raise
        _mark(cache, self.plan)

    def _after(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if not self._generating and self._thread == threading.get_ident():
            self._thread = None
        for part in output if isinstance(output, tuple) else (getattr(output, "past_key_values", None),):
            _mark(part, self.plan)

    def _begin(self) -> None:
        me = threading.get_ident()
        if self._thread not in (None, me):
            message = "another thread is computing with this model, maybe under another rung; take turns"
            raise Error(message, "inconsistent", "model")
        self._thread = me


def _as_it_is(plan: _core.Plan) -> bool:
    return str(plan.method) == "none"


def _holder(model: Any, name: str) -> Any:
    return model.get_submodule(name.rpartition(".")[0])


def _unknown(model: Any, found: str) -> Error:
    message = f"expected one module of {type(model).__name__} that takes a text and holds its rotary embedding; {found}"
    return Error(message, "unsupported", "model")


def _held(cache: Any) -> int:
    """Tokens in a cache."""
    if cache is None:
        return 0
    if hasattr(cache, "get_seq_length"):
        return int(cache.get_seq_length())
    return int(cache[0][0].shape[-2]) if len(cache) > 0 else 0  # tuples of transformers 4


def _mark(cache: Any, plan: _core.Plan) -> None:
    if hasattr(cache, "get_seq_length"):
        cache._mrrope_plan = plan


def _reach(call: dict[str, Any]) -> int:
    """How far a forward pass gets: the position after its last token."""
    positions = call.get("position_ids")
    if positions is not None:
        return int(positions.max()) + 1
    given = call.get("inputs_embeds")
    if given is None:
        given = call["input_ids"]
    return _held(call.get("past_key_values")) + int(given.shape[1])


def _prompt(inputs: Any, kwargs: dict[str, Any]) -> tuple[int, int]:
    """Tokens of the longest prompt, and columns of the batch, which has padding besides."""
    for name in ("input_ids", "inputs_embeds"):
        inputs = kwargs.get(name) if kwargs.get(name) is not None else inputs
    columns = 1 if inputs is None else int(inputs.shape[1])  # the token that begins a text
    mask = kwargs.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return columns, columns
    return int(mask.sum(-1).max()), columns


def _answer(settings: tuple[Any, ...], columns: int) -> int | None:
    """The most tokens that generate() will add, as it decides: the first that says it, new tokens before the length."""

    def said(name: str) -> int | None:
        for where in settings:
            value = where.get(name) if isinstance(where, dict) else getattr(where, name, None)
            unsaid = not isinstance(where, dict) and name == "max_length" and value == _UNSAID_MAX_LENGTH
            if value is not None and not unsaid:
                return int(value)
        return None

    new = said("max_new_tokens")
    if new is not None:
        return new
    length = said("max_length")
    return None if length is None else max(length - columns, 0)

# SPDX-License-Identifier: MIT
"""Finds the plan for a transformers model by measuring: the search of `mrrope tune`, on the model that is in memory.

    tuned = mrrope.tune(model, tokenizer, "32k", texts=[novel, manual], record="tuned.jsonl")
    mrrope.patch(model, tuned.plan)

The search and the verdict are those of mrrope/tune.h, and take losses from anybody: Search asks for those of a method,
and is told them. docs/tune.md explains objective, search and verdict.
"""

from __future__ import annotations

import os

from . import _core
from ._core import Axis, Candidate, Loss, Measured, Search, Space, TunedDifference, Verdict, front, verdict
from .measuring import Prompt, Reader, Tokens
from .patching import patch
from .tuning_items import TASKS, Items
from .tuning_record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .tuning_items import Text

    Progress = Callable[[int, int, str], None]

__all__ = ["Axis", "Candidate", "Loss", "Measured", "Search", "Space", "Tuned", "TunedDifference", "Verdict", "front"]
__all__ += ["tune", "verdict"]

_ANSWER_WEIGHT = 0.5  # nats of an answer's token against nats of a text's token, as src/in_process/tune.cpp


class Tuned:
    """What a search found, and whether it may be believed.

    plan         to use: of what was found, or of the best published method if that was not beaten
    recommended  which of the two: "tuned", or the name of that method
    tuned        the best that the search found, as spelt
    best_fixed   the best published method by the tuning items
    verdict      differences between `tuned` and the published methods on texts and prompts that the search has not seen
    candidates   everything that was tried, with its losses
    tokens       that the search took
    """

    def __init__(self, plan: _core.Plan, search: Search, judged: Verdict) -> None:
        self.plan = plan
        self.recommended = judged.recommended
        self.tuned = search.best.name
        self.best_fixed = search.best_fixed.name
        self.verdict = judged.differences
        self.candidates = search.candidates
        self.tokens = search.tokens

    def __repr__(self) -> str:
        return f"<{self.recommended}: {self.plan!r}>"

    def __str__(self) -> str:
        tried = sum(1 for candidate in self.candidates if candidate.losses)
        rows: dict[str, dict[str, str]] = {}
        for d in self.verdict:
            if d.against != self.tuned:  # nothing but itself was found
                star = "*" if d.better or d.worse else " "
                cell = f"{d.difference:+.4f} ± {(d.high - d.low) / 2:.4f} {star}"
                rows.setdefault(d.against, {})[d.metric] = cell
        lines = [f"searched  {tried} tables, {self.tokens} tokens", f"found     {self.tuned}"]
        if rows:
            metrics = ("ppl_long", "ppl_short", "answer_nll", "score")
            lines.append(f"verdict   {'against':<14}" + "".join(f"{metric:>18}  " for metric in metrics).rstrip())
            for name, cells in rows.items():
                lines.append(f"          {name:<14}" + "".join(f"{cells.get(m, '-'):>20}" for m in metrics).rstrip())
        return "\n".join([*lines, f"use       {self.plan.method}"])



def tune(
    model: Any,
    tokenizer: Any,
    context: int | str,
    *,
    texts: Iterable[Text] | None = None,
    tasks: Sequence[str] = TASKS,
    tokens: int | None = None,
    prefer: str = "balanced",
    seed: int = 1,
    record: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Measures tables on a model until its tokens are spent, and judges the best on what the search has not seen.

    model      a causal language model of transformers, on any device; it is left as it was
    tokenizer  its tokenizer
    context    the length wanted: "32k"
    texts      what the model will read: texts, or paths of files (os.PathLike); None: built-in prose
    tasks      whose prompts are tuned on; another one is asked by the verdict alone
    tokens     for the search; None: as many as 30 tables need. Fewer take fewer items. The verdict comes on top
    prefer     "long", "balanced" or "short": which texts matter
    seed       of search and prompts
    record     a file of lines that keeps every measurement: the same call goes on where it was interrupted
    progress   is called with the tokens done, the tokens in all, and what is measured now

    Error: a length that the model reaches already, texts too short for one to tune on and one to judge by, whatever
    patch() refuses, and a record that is damaged or in use.
    """
    with patch(model, context) as trial:  # what cannot be patched is refused before anything is read
        spec, target = trial.plan.spec, trial.plan.context
    space = Space(spec, target)
    items = Items(Tokens(tokenizer), texts, tuple(tasks), seed, spec.context, target)
    budget = items.afford(tokens)
    search = Search(space, items=items.count, tokens=items.cost(), token_budget=budget, prefer=prefer, seed=seed)
    # Judged are what was found and the published methods
    total = max(budget, len(space.fixed) * items.cost()) + (len(space.fixed) + 1) * items.held_out_cost()
    kept = Record(record)
    training = [module for module in model.modules() if module.training]
    try:
        model.eval()
        objective = _Objective(model, tokenizer, items, kept, trial.plan, progress, total)
        while method := search.ask():
            search.tell([objective.loss(method, item) for item in range(items.count)])
        best, fixed = search.best, search.best_fixed
        others = [c.method for c in search.candidates if c.fixed and (c.name != best.name or c.name == fixed.name)]
        found = objective.held_out(best.method)
        measured = [objective.held_out(method) for method in [*others, _core.Method("none")]]
        judged = verdict(found, measured, fixed.name, "ppl_short" if prefer == "short" else "ppl_long")
        chosen = best if judged.recommended == "tuned" else fixed
        return Tuned(_core.make_plan(spec, target, chosen.method), search, judged)
    finally:
        kept.close()
        left = vars(model).get("_mrrope_patch")  # an interrupt may fall between a patch and its block
        if left is not None:
            left.undo()
        for module in training:
            module.training = True


class _Objective:
    """Losses of a model under any method, each measured once."""

    def __init__(
        self, model: Any, tokenizer: Any, items: Items, record: Record, plan: _core.Plan, progress: Progress | None, total: int
    ) -> None:
        self._model, self._items, self._record, self._plan = model, items, record, plan
        self._identity = _fingerprint(model, plan)
        ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        self._ends = {*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id}
        self._progress, self._total, self._done = progress, total, 0

    def loss(self, method: _core.Method, item: int) -> Loss:
        items = self._items
        within, whole = self._text(method, items.tuning[item % len(items.tuning)])
        answers = [self._answer(method, prompt, False)[0] for prompt in items.prompts(item)]
        beyond = (whole - within) / (items.read - items.trained)
        return Loss(beyond + _ANSWER_WEIGHT * sum(answers) / len(answers), within / (items.trained - 1))

    def held_out(self, method: _core.Method) -> Measured:
        """On what the search has not seen. none is the model as it is, which is read as far as it was trained."""
        items = self._items
        none = method.name == "none"
        texts = [self._text(method, text[: items.trained] if none else text) for text in items.held_out]
        answers = [self._answer(method, prompt, True) for prompt in ([] if none else items.held_out_prompts())]
        return Measured(
            str(method),
            ppl_long=[] if none else [whole / (items.read - 1) for _, whole in texts],
            ppl_short=[within / (items.trained - 1) for within, _ in texts],
            answer_nll=[nll for nll, _ in answers],
            score=[score for _, score in answers],
        )

    def _text(self, method: _core.Method, ids: list[int]) -> list[float]:
        """-ln p of a text up to the trained length, and of all of it."""

        def work(reader: Reader) -> list[float]:
            nll = reader.nll(ids, 1)
            return [float(nll[: self._items.trained - 1].sum()), float(nll.sum())]

        return self._measured(method, "text", ids, 2, work)

    def _answer(self, method: _core.Method, prompt: Prompt, scored: bool) -> list[float]:
        """-ln p per token of the right answer, and the score of what the model says if that is wanted."""

        def work(reader: Reader) -> list[float]:
            return [prompt.nll(reader), *([prompt.score(reader, self._ends)] if scored else [])]

        ids = [token for right, first in prompt.right for token in [first, *right]]
        return self._measured(method, "scored prompt" if scored else "prompt", ids, 1 + scored, work)

    def _measured(
        self, method: _core.Method, what: str, ids: list[int], count: int, work: Callable[[Reader], list[float]]
    ) -> list[float]:
        import hashlib

        if self._progress is not None:
            self._progress(self._done, self._total, f"{method}, {what}")
        item = hashlib.sha256(f"{self._identity} {what} {ids}".encode()).hexdigest()[:32]
        values = self._record.find(str(method), item, count)
        if values is None:
            if method.name == "none":
                values = work(Reader(self._model))
            else:
                with patch(self._model, _core.make_plan(self._plan.spec, self._plan.context, method)):
                    values = work(Reader(self._model))
            self._record.add(str(method), item, what, values)
        self._done += len(ids)
        return values


def _fingerprint(model: Any, plan: _core.Plan) -> str:
    """Enough of a model to tell it from another, wherever it was loaded from: rotation, types, some values of all tensors."""
    some = [f"{_core.version} {plan.spec.context} {plan.context} {[list(group.inv_freq) for group in plan.groups]}"]
    for name, weight in model.named_parameters():
        few = weight.detach().flatten()[:: weight.numel() // 16 + 1].tolist() if weight.device.type != "meta" else []
        some.append(f"{name} {tuple(weight.shape)} {weight.dtype} {few}")
    return "\n".join(some)

# SPDX-License-Identifier: MIT
"""What a search reads and asks, and what it must not have read before its verdict. Nothing here is public.

Numbers and choices are those of src/in_process/tune.cpp and tune_texts.cpp; python/tests/test_tune_agreement.py runs both.
"""

from __future__ import annotations

import gzip
import json
import os

from . import _core
from .errors import Error
from .measuring import Prompt, Tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Union

    Text = Union[str, os.PathLike[str]]

TASKS = ("passkey", "niah_multikey_1", "number_string")
_ITEMS = 6  # a text and the prompts of one task at one length, each
_LEAST_ITEMS = 2
_TABLES = 30  # of a search: with a smaller budget a noisier loss of more tables is worth more
_UNSEEN_TASK = "niah_single_2"  # that only the verdict asks
_HELD_OUT_TEXTS = 6
_SAMPLES, _HELD_OUT_SAMPLES = 3, 4  # prompts: of an item, and of every task and length
_HELD_OUT_SEEDS = 1_000_000  # between the prompts of the search and those of the verdict
_READ_AT_MOST = 16384  # beyond this a reading takes minutes and ranks plans no better
_HAYSTACK_BYTES = 4 << 20
_BYTES_PER_TOKEN = 8


class Items:
    """What is read and asked: an item of the search is a text, and a few prompts of one task at one length."""

    def __init__(
        self, tokens: Tokens, texts: Iterable[Text] | None, tasks: tuple[str, ...], seed: int, trained: int, target: int
    ) -> None:
        self.trained, self.target = trained, target
        self.read = min(target, max(_READ_AT_MOST, 2 * trained))
        middle = int((trained * self.read) ** 0.5 / 256 + 0.5) * 256
        self._lengths = [middle, self.read // 2 if self.read // 2 > middle else self.read]
        if not tasks:
            raise Error("expected at least one task", "invalid argument", "tasks")
        self._tokens, self._tasks, self._seed = tokens, tasks, seed
        self.count, self._samples = _ITEMS, _SAMPLES
        self._made: dict[tuple[str, int, int, int], Prompt] = {}
        if isinstance(texts, (str, os.PathLike)):
            raise TypeError("expected a list of texts, found one")
        wanted = (_ITEMS + _HELD_OUT_TEXTS) * self.read
        if texts is None:
            texts = [_core.built_in_story(_BYTES_PER_TOKEN * wanted)]
        contents = [contents_of(text, 2 * _BYTES_PER_TOKEN * wanted) for text in texts]
        self._split([(tokens.bos + tokens.of(text))[:wanted] for several in contents for text in several])
        self._haystack = "\n\n".join(contents[0]).encode("utf-8")[:_HAYSTACK_BYTES].decode("utf-8", "ignore")

    def _split(self, documents: list[list[int]]) -> None:
        """Texts of `read` tokens, each with the model's own beginning: of several documents others for the verdict."""
        lists = []
        for ids in documents:
            starts = range(0, len(ids) - self.read + 1, self.read)
            windows = [(self._tokens.bos or ids[at : at + 1]) + ids[at + 1 : at + self.read] for at in starts]
            if windows:
                lists.append(windows)
        if len(lists) == 1 and len(lists[0]) > 1:  # one text: its beginning, and its end
            first = max(1, len(lists[0]) * _ITEMS // (_ITEMS + _HELD_OUT_TEXTS))
            lists = [lists[0][:first], lists[0][first:]]
        half = len(lists) // 2
        self.tuning = _in_turn(lists[:half], _ITEMS)
        self.held_out = _in_turn(lists[half:], _HELD_OUT_TEXTS)
        if not self.tuning or not self.held_out:
            message = f"expected texts of at least {self.read} tokens, one to tune on and one to judge by"
            raise Error(message, "invalid argument", "texts")

    def afford(self, tokens: int | None) -> int:
        """The budget of a search, and as many items and samples as it pays for."""
        budget = _TABLES * self.cost() if tokens is None else tokens
        while self._samples > 1 and self.cost() > budget // _TABLES:
            self._samples -= 1
        while self.count > _LEAST_ITEMS and self.cost() > budget // _TABLES:
            self.count -= 1
        return budget

    def _length(self, item: int) -> int:
        return self._lengths[item % len(self._lengths)]

    def cost(self) -> int:
        """Tokens that one method takes."""
        return sum(self.read + self._samples * self._length(item) for item in range(self.count))

    def held_out_cost(self) -> int:
        prompts = _HELD_OUT_SAMPLES * (len(self._tasks) + 1) * sum(self._lengths)
        return self.read * len(self.held_out) + prompts

    def _prompt(self, task: str, length: int, seed: int, index: int) -> Prompt:
        key = (task, length, seed, index)
        if key not in self._made:
            self._made[key] = Prompt(self._tokens, task, self._haystack, length, seed, index)
        return self._made[key]

    def prompts(self, item: int) -> list[Prompt]:
        task = self._tasks[item % len(self._tasks)]
        return [self._prompt(task, self._length(item), self._seed + item, index) for index in range(self._samples)]

    def held_out_prompts(self) -> list[Prompt]:
        kinds = [(task, length) for task in (*self._tasks, _UNSEEN_TASK) for length in self._lengths]
        seed = self._seed + _HELD_OUT_SEEDS
        return [self._prompt(*kind, seed, index) for kind in kinds for index in range(_HELD_OUT_SAMPLES)]


def contents_of(text: Text, characters: int) -> list[str]:
    """Of a .jsonl the documents, one per line; of anything else itself."""
    if isinstance(text, str):
        return [text[:characters].encode("utf-8", "replace").decode("utf-8")]
    path = os.fspath(text)
    try:
        with (gzip.open if path.endswith(".jsonl.gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
            if path.endswith((".jsonl", ".jsonl.gz")):
                return [_text_of(line, f"{path}: line {n}")[:characters] for n, line in enumerate(file, 1) if line.strip()]
            return [file.read(characters)]
    except OSError as problem:
        raise Error(str(problem.strerror or problem), "input/output", path) from problem


def _text_of(line: str, place: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError as problem:
        raise Error(str(problem), "malformed", place) from problem
    text = entry.get("text") if isinstance(entry, dict) else None
    if not isinstance(text, str):
        message = 'expected a field "text": a .jsonl is documents, one per line; other files are one text'
        raise Error(message, "malformed", place)
    return text


def _in_turn(lists: list[list[list[int]]], count: int) -> list[list[int]]:
    """The first of each list, then the second of each, …"""
    longest = max(map(len, lists), default=0)
    return [some[i] for i in range(longest) for some in lists if i < len(some)][:count]

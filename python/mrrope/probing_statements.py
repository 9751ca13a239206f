# SPDX-License-Identifier: MIT
"""What a server is asked so that its table shows. Nothing here is public.

Prompts and numbers are those of src/served/statements.cpp: prose in which every third sentence is one that was read
before, so that attention reaches back over all distances that tables differ on.
"""

from __future__ import annotations

from ._core import Row, Statement, built_in_story
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from typing import Any

    from .asking import Chances, Server

ANSWER = 16  # tokens, each a row
_CUTS = 8  # lengths of a text that are asked about
_SINGLES = 6  # prompts of one token
_PLACES = 24  # of a stretch of a whole prompt that are used
_SHORTEST = 1 / 16  # of the longest
_STORY = 1 << 20  # bytes
_BYTES_PER_TOKEN = 8


def statements(
    server: Server, tokenizer: Any, vocabulary: int, longest: int, texts: int, seed: int
) -> Iterator[Statement]:
    """What the server says of single tokens, which no table reaches, and of texts up to `longest` tokens."""
    import random

    story = built_in_story(_STORY)
    choice = random.Random(seed)  # the same prompts every time
    asked = _Asked(server, vocabulary, seed)
    for text in range(texts):
        begin = story.find(". ", (seed * 977 + text * 131) % 800 * 1024) + 2
        prose = _text(story, begin, _BYTES_PER_TOKEN * longest, choice)
        tokens = list(tokenizer.encode(prose))[:longest]
        if len(tokens) < longest:
            message = f"a text of {len(prose)} bytes has only {len(tokens)} tokens"
            raise Error(message, "unsupported", "tokenizer")
        if text == 0:
            for i in range(_SINGLES):
                yield asked.answer([tokens[longest * (i + 1) // (_SINGLES + 1)]], 1)
        cuts = [max(2, round(longest * _SHORTEST ** (1 - (k + 1) / _CUTS))) for k in range(_CUTS)]
        if server.software == "vLLM":
            yield from asked.whole(tokens, cuts)
        else:
            yield from (asked.answer(tokens[:cut], ANSWER) for cut in cuts)


def _text(story: str, begin: int, size: int, choice: random.Random) -> str:
    """Prose with repetitions, as many sentences ago as a power of two, up to 128."""
    sentences: list[str] = []
    text = ""
    while len(text) < size and (end := story.find(". ", begin)) >= 0:
        sentences.append(story[begin : end + 2])
        begin = end + 2
        text += sentences[-1]
        if len(sentences) % 2 == 0:
            text += sentences[-1 - min(1 << choice.randrange(8), len(sentences) - 1)]
    return text


class _Asked:
    """A server's answers by the numbers of a vocabulary."""

    def __init__(self, server: Server, vocabulary: int, seed: int) -> None:
        self._server, self._vocabulary, self._seed = server, vocabulary, seed

    def answer(self, prompt: list[int], length: int) -> Statement:
        chosen, rows = self._server.next(prompt, length, self._seed)
        said = [self._row(len(prompt) + i, row) for i, row in enumerate(rows)]
        self._check(chosen)
        return Statement(prompt + chosen[:-1], said)

    def whole(self, tokens: list[int], cuts: list[int]) -> Iterator[Statement]:
        """One request for all places; a stretch up to each cut is a statement."""
        places = self._server.within(tokens)
        begin = 1
        for end in cuts:
            step = max(1, (end - begin) // _PLACES)
            first = max(1, end - step * (_PLACES - 1) - 1)
            used = [at for at in range(first, end, step) if at >= begin]
            if used:
                yield Statement(tokens[:end], [self._row(at, places[at - 1]) for at in used])
            begin = end

    def _row(self, at: int, chances: Chances) -> Row:
        self._check(list(chances))
        return Row(at, list(chances), list(chances.values()))

    def _check(self, tokens: list[int]) -> None:
        if max(tokens) >= self._vocabulary:
            message = f"the server names token {max(tokens)}, and this model has {self._vocabulary}: another model"
            raise Error(message, "unsupported", "url")

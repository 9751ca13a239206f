# SPDX-License-Identifier: MIT
"""-ln p of texts and answers by a transformers model, as `mrrope tune` measures it with llama.cpp. Nothing here is public.

A text is read in steps with a cache of keys and values, so memory is that of the cache and of a few rows of logits.
"""

from __future__ import annotations

from . import _core
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_STEP = 512  # tokens
_LOGITS = 1 << 25  # at a time: 128 MiB in float32, and as much again while they are summed
_MARK = "\x01prompt\x01"  # stands where the prompt goes; no template has a use for it
_AFTER_RIGHT = 2  # tokens that may follow a right answer: a point, a line break


class Reader:
    """A model that reads on: what it computed is kept as far as the next text begins alike. For one plan."""

    def __init__(self, model: Any) -> None:
        import inspect

        self._model = model
        embedding = model.get_input_embeddings().weight
        self._device = embedding.device
        self._rows_at_once = max(1, min(_STEP, _LOGITS // embedding.shape[0]))
        self._keeps_some = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._read: list[int] = []
        self._cache: Any = None

    def nll(self, tokens: list[int], first: int) -> Any:
        """-ln p of each token from `first` on, which is 1 or more: float64, on the processor."""
        import torch

        parts = []
        for rows in self._rows(tokens[:-1], first - 1):
            right = torch.tensor(tokens[first : first + len(rows)], device=rows.device)
            logits = rows.float()
            parts.append(logits.logsumexp(-1) - logits.gather(-1, right[:, None])[:, 0])
            first += len(rows)
        return torch.cat(parts).cpu().double()

    def log_p(self, statement: _core.Statement) -> list[list[float]]:
        """ln p of the tokens of each row of a statement."""
        tokens, wanted = statement.tokens, statement.rows
        first = wanted[0].at
        found: list[list[float]] = []
        for rows in self._rows(tokens[: wanted[-1].at], first - 1):
            while len(found) < len(wanted) and (at := wanted[len(found)].at) < first + len(rows):
                logits = rows[at - first].float()
                found.append((logits[wanted[len(found)].tokens] - logits.logsumexp(-1)).clamp(max=0).double().tolist())
            first += len(rows)
        return found

    def likeliest(self, tokens: list[int]) -> int:
        """What the model would write next."""
        (row,) = self._rows(tokens, len(tokens) - 1)
        return int(row[-1].argmax())

    def _rows(self, tokens: list[int], first: int) -> Iterator[Any]:
        """Logits after tokens[first], tokens[first + 1], …: some rows at a time."""
        import torch

        self._rewind(tokens, first)
        while (at := len(self._read)) < len(tokens):
            end = min(at + _STEP, first) if at < first else min(at + self._rows_at_once, len(tokens))
            some = {"logits_to_keep": end - at if at >= first else 1} if self._keeps_some else {}
            with torch.no_grad():
                out = self._model(
                    input_ids=torch.tensor([tokens[at:end]], device=self._device),
                    past_key_values=self._cache,
                    use_cache=True,
                    **some,
                )
            self._cache, self._read = out.past_key_values, tokens[:end]
            if at >= first:
                yield out.logits[0]

    def _rewind(self, tokens: list[int], most: int) -> None:
        """Forgets what `tokens` does not begin with, and all from `most` on."""
        common = 0
        while common < min(most, len(self._read)) and self._read[common] == tokens[common]:
            common += 1
        if common == len(self._read):
            return
        # A sliding window has forgotten what would have to come back, and a state cannot be cut: from the start, then
        plain = all(type(layer).__name__ == "DynamicLayer" for layer in getattr(self._cache, "layers", [None]))
        if plain and common > 0:
            self._cache.crop(common - len(self._read))  # negative: so many are taken away
            self._read = self._read[:common]
        else:
            self._cache, self._read = None, []


class Tokens:
    """A tokenizer with the frame of its prompts: BOS and chat template, cut where the prompt goes."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        special = list(tokenizer.encode("", add_special_tokens=True))
        self.bos = special[:1] if special and special[0] == tokenizer.bos_token_id else []
        before, after = "", ""
        if getattr(tokenizer, "chat_template", None):
            message = [{"role": "user", "content": _MARK}]
            # Who thinks before answering gets an empty thought: there is no room for another
            whole = tokenizer.apply_chat_template(
                message, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
            before, found, after = whole.partition(_MARK)
            if not found:
                raise Error("the chat template does not keep the user's text as it is", "unsupported", "tokenizer")
        self._before = list(tokenizer.encode(before, add_special_tokens=False))
        if self._before[:1] != self.bos:
            self._before = self.bos + self._before
        self._after = list(tokenizer.encode(after, add_special_tokens=False))
        # Where a template stands between the prompt and the beginning of the answer, they are tokenised apart
        self.frame_tokens = len(self._before) + len(self._after) + (2 if self._after else 0)

    def of(self, text: str) -> list[int]:
        """Of a text by itself; a marker such as "<|im_end|>" in it is text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)) if text else []

    def prompt(self, sample: _core.Sample, beginning: str) -> list[int]:
        """A sample, and how the answer begins."""
        if not self._after:
            return self._before + self.of(sample.prompt + beginning)
        return self._before + self.of(sample.prompt) + self._after + self.of(beginning)

    def text_after(self, before: int, reply: list[int]) -> str:
        """What a reply adds to the text, its first space included. `before`: the last token of the prompt."""
        shown, text = (self._decoded(t) for t in ([before], [before, *reply]))
        return text[len(shown) :] if text.startswith(shown) else text

    def _decoded(self, tokens: list[int]) -> str:
        text = self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text)


class Prompt:
    """A sample as one model reads it: its tokens, and those of the right answers after them."""

    def __init__(
        self, tokens: Tokens, task: str, haystack: str, length: int, seed: int, index: int, depth: float | None = None
    ) -> None:
        def count(text: str) -> int:
            return len(tokens.of(text))

        self._tokens = tokens
        self.sample = _core.make_sample(task, haystack, length, seed, index, tokens.frame_tokens, count, depth)
        prefix = self.sample.answer_prefix
        self.ids = tokens.prompt(self.sample, prefix)
        self.right: list[tuple[list[int], int]] = []  # prompt and answer, and where the answer begins
        for answer in self.sample.answers:
            # A turn that begins with the answer begins with no space
            whole = tokens.prompt(self.sample, prefix + answer if prefix else answer.removeprefix(" "))
            same = [a == b for a, b in zip(whole, self.ids)]  # a tokenizer may join the seam
            first = same.index(False) if False in same else len(same)
            if 0 < first < len(whole) <= length:
                self.right.append((whole, first))
        if not self.right:
            raise Error(f"no right answer of {task} is made of tokens of its own", "unsupported", "tokenizer")

    def right_answer(self, reader: Reader) -> tuple[float, int]:
        """-ln p of the right answer, of any of its spellings, and the tokens of the likeliest."""
        import math

        spellings = [(float(reader.nll(ids, first).sum()), len(ids) - first) for ids, first in self.right]
        least, tokens = min(spellings)
        return least - math.log(sum(math.exp(least - nll) for nll, _ in spellings)), tokens

    def nll(self, reader: Reader) -> float:
        """-ln p per token of the right answer."""
        nll, tokens = self.right_answer(reader)
        return nll / tokens

    def reply(self, reader: Reader, ends: set[int], most: int) -> tuple[str, int, bool]:
        """What the model says in `most` tokens, how many it took, and whether it was cut off; `ends`: what ends a text."""
        reply: list[int] = []
        text = ""
        while len(reply) < most:
            if self.sample.stops_at_newline and "\n" in text.lstrip():
                return text, len(reply), False
            token = reader.likeliest(self.ids + reply)
            if token in ends:
                return text, len(reply), False
            reply.append(token)
            text = self._tokens.text_after(self.ids[-1], reply)
        return text, len(reply), True

    def score(self, reader: Reader, ends: set[int]) -> float:
        """Of what the model says when it may say as much as a right answer."""
        most = max(len(ids) - first for ids, first in self.right) + _AFTER_RIGHT
        return self.sample.score(self.reply(reader, ends, most)[0])

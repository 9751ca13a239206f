# SPDX-License-Identifier: MIT
"""Log probabilities from a running server: vLLM, or llama.cpp's. Nothing here is public.

Both take prompts as lists of tokens and name tokens by number (src/servers/ask.cpp has the shapes and where they were
seen). Whatever a server says is bounded and read strictly: what is not as expected is an Error, never a row.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import time
import urllib.error
import urllib.request

from .errors import Error, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Chances = dict[int, float]  # ln p by token

TOP = 10  # tokens of a row
_MOST_BYTES = 8 << 20  # of an answer
_MOST_NAME = 1024  # characters of a model's name
_MOST_TOKENS = 1 << 30
_MOST_WORDS = 300  # characters of what a server says in an error
_TELLING_PART = 8  # so many characters in a row tell something of a key
_DEADLINE = 600.0  # seconds, to the last byte
_PATIENCE = (1, 2, 4)  # seconds, where a server is busy
_SURPLUS = 1e-3  # of a log probability or a sum of probabilities, by rounding
_URL = re.compile(r"https?://[^\s/?#@\"<>\\^`{|}]+(/[!-~]*)?", re.ASCII)


class Server:
    """A server, as GET /v1/models describes it.

    software  "vLLM" or "llama.cpp"
    model     how it calls the model
    length    tokens that it says it takes; None: it does not say
    """

    def __init__(self, url: str, model: str | None, key_env: str) -> None:
        if not _URL.fullmatch(url) or "?" in url or "#" in url:  # not repeated: it may hold a key
            raise Error("expected http://host:port or https://host/path", "invalid argument", "url")
        self._url = url.rstrip("/").removesuffix("/v1").rstrip("/")
        self._key = os.environ.get(key_env, "")
        if not re.fullmatch(r"[!-~]{0,4096}", self._key, re.ASCII):
            raise Error("expected at most 4096 visible ASCII characters", "invalid argument", key_env)
        self._opener = urllib.request.build_opener(_NoRedirect())
        self.software, self.model = "", model or ""
        self.length: int | None = None
        self._describe()

    def next(self, tokens: list[int], answer: int, seed: int) -> tuple[list[int], list[Chances]]:
        """An answer of so many tokens, and what was likely in the place of each of them."""
        body: dict[str, Any] = {"max_tokens": answer, "logprobs": TOP, "return_tokens_as_token_ids": True}
        if answer > 1:  # beyond its end, and not always the likeliest
            body |= {"temperature": 1, "seed": seed, "top_p": 1, "ignore_eos": True}
        choice = self._complete(tokens, body)
        if choice.get("logprobs") is None:
            raise Error("the server gives no log probabilities", "unsupported", self._url)
        with self._reading():
            said = _a(dict, choice["logprobs"])
            chosen, rows = _of_chat(said["content"]) if "content" in said else _of_completion(said)
            if not 1 <= len(rows) <= answer or len(chosen) != len(rows):
                raise ValueError(f"expected log probabilities of {answer} tokens, found {len(rows)}")
            return chosen, [_row(row) for row in rows]

    def within(self, tokens: list[int]) -> list[Chances]:
        """What was likely in the place of each token of a prompt but the first: vLLM alone tells."""
        choice = self._complete(tokens, {"max_tokens": 1, "prompt_logprobs": TOP})
        with self._reading():
            places = _a(list, choice["prompt_logprobs"])
            if len(places) != len(tokens):
                raise ValueError(f"expected log probabilities of {len(tokens)} places, found {len(places)}")
            return [_row((_number(n), _a(dict, one)["logprob"]) for n, one in _a(dict, p).items()) for p in places[1:]]

    def _describe(self) -> None:
        answer = self._ask("/v1/models")
        with self._reading():
            models = [_a(dict, one) for one in _a(list, answer["data"])]
            found = [one for one in models if self.model in ("", one.get("id"))][:1]
            if not found:
                name = f" called {self.model}" if self.model else ""
                raise Error(f"the server has no model{name}", "invalid argument", "served_model")
            self.model = _a(str, found[0]["id"])
            if len(self.model) > _MOST_NAME or not self.model.isprintable():
                raise ValueError("expected the name of a model")
            self.software = {"vllm": "vLLM", "llamacpp": "llama.cpp"}.get(_a(str, found[0].get("owned_by", "")), "")
            length = found[0].get("max_model_len")
        if not self.software:
            message = "vLLM and llama.cpp's server take and name tokens by number; this is another one"
            raise Error(message, "unsupported", "url")
        if self.software == "llama.cpp":
            props = self._ask("/props")
            with self._reading():
                length = _a(dict, props["default_generation_settings"])["n_ctx"]
        with self._reading():
            self.length = None if length is None else _in_range(length, 1, _MOST_TOKENS)

    def _complete(self, tokens: list[int], body: dict[str, Any]) -> dict[str, Any]:
        """The only choice, of a prompt that was read as it is."""
        answer = self._ask("/v1/completions", {"model": self.model, "prompt": tokens, "temperature": 0, **body})
        with self._reading():
            choice: dict[str, Any] = _a(dict, _a(list, answer["choices"])[0])
            usage = _in_range(_a(dict, answer["usage"])["prompt_tokens"], 0, _MOST_TOKENS)
        if usage != len(tokens):
            message = f"the server reads {usage} tokens where {len(tokens)} were sent: it changes prompts"
            raise Error(message, "unsupported", self._url)
        return choice

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps({**body, "stream": False}).encode()
        for wait in (*_PATIENCE, None):
            request = urllib.request.Request(self._url + path, data, headers)
            status, content = self._exchange(request)
            if status not in (429, 503) or wait is None:
                break
            time.sleep(wait)
        if status != 200:
            refused = "invalid argument" if 400 <= status < 500 else "input/output"
            raise Error(f"{path}: HTTP {status}{self._words(content)}", refused, self._url)
        with self._reading():
            answer: dict[str, Any] = _a(dict, json.loads(content, parse_constant=_no_number, object_pairs_hook=_once))
        return answer

    def _exchange(self, request: urllib.request.Request) -> tuple[int, bytes]:
        end = time.monotonic() + _DEADLINE
        try:
            try:
                response = self._opener.open(request, timeout=_DEADLINE)
            except urllib.error.HTTPError as refusal:
                response = refusal
            with response:
                content = bytearray()
                while part := response.read1(1 << 16):
                    content += part
                    if len(content) > _MOST_BYTES:
                        raise Error(f"the answer has more than {_MOST_BYTES} bytes", "malformed", self._url)
                    if time.monotonic() > end:
                        raise Error(f"no complete answer within {_DEADLINE:.0f} s", "input/output", self._url)
                if getattr(response, "length", None):  # is counted down
                    raise Error("the answer ends before its end", "input/output", self._url)
                return int(response.code), bytes(content)
        except (OSError, http.client.HTTPException) as problem:
            reason = getattr(problem, "reason", problem)
            raise Error(f"no answer{self._words(str(reason).encode())}", "input/output", self._url) from None

    def _words(self, content: bytes) -> str:
        """What a server says, fit to be shown: its key may be in it."""
        text = " ".join(printable(content[: 8 * _MOST_WORDS].decode("utf-8", "replace")).split())
        part = min(_TELLING_PART, len(self._key))
        if part and any(self._key[i : i + part].lower() in text.lower() for i in range(len(self._key) - part + 1)):
            return ": [it repeats the API key]"
        return f": {text[:_MOST_WORDS]}" if text else ""

    def _reading(self) -> _Reading:
        return _Reading(self)


class _Reading:
    """A block that reads an answer: whatever it lacks, or has in another form, makes it malformed."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)):
            missing = "a field is missing: " if isinstance(problem, KeyError) else ""
            words = self._server._words(f"{missing}{problem}".encode("utf-8", "replace"))
            raise Error(f"the answer is not as expected{words}", "malformed", self._server._url) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key would go along, and the answers would be another server's."""

    def redirect_request(self, *args: Any, **named: Any) -> None:
        return None


# ---- Fields: ValueError where they are not as expected --------------------------------------------------------------


def _a(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def _in_range(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"expected a whole number from {low} to {high}")
    return value


def _number(digits: Any) -> int:
    """Of a token: "84", or "token_id:84" as vLLM names it when it is asked to."""
    if not re.fullmatch(r"(token_id:)?[0-9]{1,9}", _a(str, digits), re.ASCII):
        raise ValueError("expected the number of a token")
    return int(digits.removeprefix("token_id:"))


def _row(pairs: Iterable[tuple[int, Any]]) -> Chances:
    row: Chances = {}
    for token, value in pairs:
        log_p = float(value) if type(value) in (int, float) else math.nan
        if not -math.inf < log_p <= _SURPLUS:
            raise ValueError("expected a log probability")
        if token in row:
            raise ValueError(f"token {token} is there twice")
        row[token] = min(log_p, 0.0)
    if not 1 <= len(row) <= 2 * TOP:
        raise ValueError(f"expected the {TOP} likeliest tokens, found {len(row)}")
    if math.fsum(map(math.exp, row.values())) > 1 + _SURPLUS:
        raise ValueError("probabilities are more than 1 together")
    return row


def _of_chat(content: Any) -> tuple[list[int], list[list[tuple[int, Any]]]]:
    """llama.cpp: [{"id": 84, "logprob": -2.58, "top_logprobs": [{"id": 84, "logprob": -2.58}, …]}, …]"""

    def token(one: Any) -> int:
        return _in_range(_a(dict, one)["id"], 0, _MOST_TOKENS)

    places = _a(list, content)
    rows = [[(token(one), one["logprob"]) for one in _a(list, place["top_logprobs"])] for place in places]
    return [token(place) for place in places], rows


def _of_completion(said: Any) -> tuple[list[int], list[list[tuple[int, Any]]]]:
    """vLLM: {"tokens": ["token_id:84", …], "top_logprobs": [{"token_id:84": -2.58, …}, …]}"""
    rows = [[(_number(name), value) for name, value in _a(dict, one).items()] for one in _a(list, said["top_logprobs"])]
    return [_number(name) for name in _a(list, said["tokens"])], rows


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is there twice")
    return fields

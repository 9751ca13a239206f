# SPDX-License-Identifier: MIT
"""What a search has measured, in a file that it goes on from. Nothing here is public."""

from __future__ import annotations

import os

from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Record:
    """Measurements by method and item, one line of JSON each, on disk before the next one begins."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._known: dict[tuple[str, str], list[float]] = {}
        self._file: Any = None
        if path is not None:
            self._open(os.fspath(path))

    def _open(self, path: str) -> None:
        import fcntl
        import json
        import math

        try:
            self._file = open(path, "a+b")  # closed by close()
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.seek(0)
            content = self._file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                self._file.truncate(whole)  # a process was killed while it wrote its last line
        except OSError as problem:
            self.close()
            said = "another process is writing it" if isinstance(problem, BlockingIOError) else str(problem.strerror)
            raise Error(said, "input/output", path) from problem
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                values = [float(value) for value in entry["values"]]
                if not all(map(math.isfinite, values)):
                    raise ValueError("not a number")
                self._known[str(entry["method"]), str(entry["item"])] = values
            except (ValueError, KeyError, TypeError, RecursionError) as problem:
                self.close()
                raise Error(f"line {number} is no measurement of a search", "malformed", path) from problem

    def find(self, method: str, item: str, count: int) -> list[float] | None:
        values = self._known.get((method, item))
        return values if values is not None and len(values) == count else None

    def add(self, method: str, item: str, what: str, values: list[float]) -> None:
        import json
        import math

        if not all(map(math.isfinite, values)):
            raise Error(f"the model's logits under {method} are not numbers", "inconsistent", "model")
        self._known[method, item] = values
        if self._file is not None:
            line = json.dumps({"method": method, "item": item, "what": what, "values": values})
            self._file.write(line.encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

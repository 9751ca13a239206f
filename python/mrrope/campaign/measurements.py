# SPDX-License-Identifier: MIT
"""What can be measured: the kinds of `mrrope eval`, what a campaign says of each, and its words on a command line."""

from __future__ import annotations

import dataclasses
import glob
import pathlib
import re

from ..errors import Error
from .reading import Table, tokens, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# By kind: the keys of the file. Each is an option of `mrrope eval KIND` (a line below), but for `texts`. All have
# `name`, `lengths` and `cache_types`, too.
KINDS: dict[str, tuple[str, ...]] = {
    "ppl": ("texts", "kl"),
    "niah": ("tasks", "samples", "depths", "seed", "haystack"),
    "ruler": ("tasks", "samples", "seed", "haystack", "words", "questions"),
    "infinitebench": ("tasks", "samples", "seed", "items"),
    "longbench2": ("samples", "seed", "items", "generate"),
}
_TASKS = {"niah": 1, "ruler": 13, "infinitebench": 12, "longbench2": 1}  # where a file says "all"; for estimates
_NEEDED = {"ppl": "texts", "longbench2": "items"}
_FILES = ("haystack", "words", "questions", "items")


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One line of `measurements`."""

    name: str  # of its folder
    kind: str
    lengths: tuple[int, ...]  # tokens, ascending
    values: dict[str, str | tuple[str, ...]]  # by key, as a command line says it; () for what has no value
    cache_types: tuple[str, ...] = ()  # none: as the engine has it

    def words(self, shard: int, shards: int) -> list[str] | None:
        """What follows the engine's words; None: nothing is left for this shard.

        Samples are divided by `mrrope eval` itself, texts are dealt out file by file.
        """
        words = ["--lengths", ",".join(map(str, self.lengths))]
        words += ["--cache-types", ",".join(self.cache_types)] if self.cache_types else []
        for key, value in self.values.items():
            if key == "texts":
                mine = value[shard::shards]
                if not mine:
                    return None
                words += [word for text in mine for word in ("-f", text)]
            elif isinstance(value, tuple):
                words += [f"--{key}", *([",".join(value)] if value else [])]
            else:
                words += [f"--{key}", value]
        if shards > 1 and self.kind != "ppl":
            words += ["--shard", f"{shard}/{shards}"]
        return words

    def missing(self) -> list[str]:
        """Of its files, those that are not there."""
        named = [self.values[key] for key in ("texts", *_FILES) if key in self.values]
        paths = [path for one in named for path in ([one] if isinstance(one, str) else one)]
        return [path for path in paths if not pathlib.Path(path).is_file()]

    def tokens(self) -> list[tuple[int, int]]:
        """(length, prompts): what a plan has to read. An estimate from above: what does not fit is left out later."""
        caches = max(1, len(self.cache_types))
        if self.kind == "ppl":  # one pass over the longest length gives the others
            return [(self.lengths[-1], caches * len(self.values["texts"]))]
        tasks = self.values.get("tasks", ("all",))
        many = _TASKS[self.kind] if tasks == ("all",) else len(tasks)
        samples = int(str(self.values.get("samples", "1" if self.kind == "niah" else "20")))
        depths = int(str(self.values.get("depths", "10"))) if self.kind == "niah" else 1
        return [(length, caches * many * samples * depths) for length in self.lengths]


def read_measurement(
    value: object, where: str, lengths: tuple[int, ...], cache_types: tuple[str, ...],
    path: Callable[[str], pathlib.Path], others: dict[str, object], data: bool,
) -> Measurement:  # fmt: skip
    """`lengths` and `cache_types`: of the whole campaign. `others`: values that stand in the place of the file's own
    where the kind has such a key (`tiny`). `data`: its files have to be there."""
    table = Table(value, where)
    kind = table.text("kind", "one of " + ", ".join(KINDS))
    if kind not in KINDS:
        wrong(table.place("kind"), "one of " + ", ".join(KINDS), kind)
    mine = {key: other for key, other in others.items() if key in (*KINDS[kind], "lengths", "cache_types")}
    table = Table({**value, **mine}, where)  # type: ignore[dict-item]
    table.text("kind")
    name = table.text("name") if table.has("name") else kind
    if table.has("lengths"):
        lengths = read_lengths(table, "lengths")
    if not lengths:
        said = "expected lengths here or for the whole campaign, such as [4k, 8k]"
        raise Error(said, "malformed", table.place("lengths"))
    cache_types = read_cache_types(table) or cache_types
    values = {key: _value(table, key, path, data) for key in KINDS[kind] if _given(table, key)}
    table.end()
    if (needed := _NEEDED.get(kind)) and needed not in values:
        raise Error(f"expected {needed}, found nothing", "malformed", table.place(needed))
    return Measurement(name, kind, lengths, values, cache_types)


def read_lengths(table: Table, key: str) -> tuple[int, ...]:
    return tuple(sorted({tokens(one, where) for one, where in table.list(key, "lengths such as [4k, 8k]")}))


def read_cache_types(table: Table) -> tuple[str, ...]:
    """Empty: nothing is said of them."""
    if not table.has("cache_types"):
        return ()
    expected = "types of cache such as [f16, q8_0], each once"
    found = table.texts("cache_types", expected)
    if len(set(found)) < len(found) or not all(re.fullmatch(r"[a-z][a-z0-9_]{0,15}", one) for one in found):
        wrong(table.place("cache_types"), expected, ", ".join(found))
    return found


def _given(table: Table, key: str) -> bool:
    return table.has(key) and (key != "generate" or table.flag(key))


def _value(table: Table, key: str, path: Callable[[str], pathlib.Path], data: bool) -> str | tuple[str, ...]:
    if key == "texts":
        return _texts(table, path, data)
    if key == "tasks":
        return table.texts(key, "names of tasks")
    if key in _FILES:
        file = path(table.text(key, "a file"))
        if data and not file.is_file():
            raise Error("there is no such file", "input/output", f"{table.place(key)}: {file}")
        return str(file)
    if key == "generate":
        return ()
    if key == "kl":
        return str(tokens(table.any(key, "a length"), table.place(key)))
    return str(table.whole(key, 0, 2**31, 0))


def _texts(table: Table, path: Callable[[str], pathlib.Path], data: bool) -> tuple[str, ...]:
    """Files by name or pattern, in the order of their names: a shard's texts are the same on every machine."""
    found: list[str] = []
    for pattern in table.texts("texts", "files of text, or patterns"):
        whole = str(path(pattern))
        files = [whole] if pathlib.Path(whole).is_file() else sorted(glob.glob(whole, recursive=True))
        files = [file for file in files if pathlib.Path(file).is_file()]
        if not files and data:
            said = "no file has this name or fits this pattern"
            raise Error(said, "input/output", f"{table.place('texts')}: {whole}")
        found += files or [whole]
    return tuple(dict.fromkeys(found))

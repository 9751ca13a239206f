# SPDX-License-Identifier: MIT
"""Strict reading of a YAML or TOML document: every key is known, every value has its type, and errors say where.

    table = Table(document, "campaign.yaml")
    name = table.text("name")
    table.end()                      # refuses what nobody asked for, with the key that was probably meant
"""

from __future__ import annotations

import difflib
import pathlib
import re

from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_MOST_BYTES = 1 << 20
_MOST_TOKENS = 1 << 30
_UNITS = {"": 1, "k": 1024, "K": 1024, "m": 1 << 20, "M": 1 << 20}


def document(path: pathlib.Path) -> Any:
    """What a .yaml, .yml or .toml file says."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Error(error.strerror or "cannot be read", "input/output", str(path)) from None
    if len(raw) > _MOST_BYTES:
        raise Error("expected a campaign, found more than 1 MiB", "malformed", str(path))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Error(f"expected UTF-8, found something else at byte {error.start}", "malformed", str(path)) from None
    if path.suffix == ".toml":
        return _toml(text, path)
    if path.suffix in (".yaml", ".yml"):
        return _yaml(text, path)
    raise Error("expected a .yaml, .yml or .toml file", "invalid argument", str(path))


def tokens(value: object, where: str) -> int:
    """A length in tokens: 4096 or "4k"."""
    found = re.fullmatch(r"([0-9]{1,10})([kKmM]?)", str(value)) if isinstance(value, (int, str)) else None
    length = int(found[1]) * _UNITS[found[2]] if found and not isinstance(value, bool) else 0
    if not 1 <= length <= _MOST_TOKENS:
        wrong(where, "a length such as 4096, 32k or 1M", value)
    return length


def wrong(where: str, expected: str, found: object) -> NoReturn:
    shown = repr(found) if isinstance(found, (str, int, float)) else _kind(found)
    raise Error(f"expected {expected}, found {shown[:80]}", "malformed", where)


class Table:
    """A mapping whose keys are taken one by one."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            wrong(where, "a mapping of names to values", value)
        self.where = where
        self._values: dict[str, Any] = dict(value)
        self._known: set[str] = set()

    def place(self, key: str) -> str:
        return f"{self.where}: {key}" if self.where.endswith((".yaml", ".yml", ".toml")) else f"{self.where}.{key}"

    def has(self, key: str) -> bool:
        """Whether it is there; null is not."""
        self._known.add(key)
        return self._values.get(key) is not None

    def any(self, key: str, expected: str) -> Any:
        if not self.has(key):
            raise Error(f"expected {expected}, found nothing", "malformed", self.place(key))
        return self._values[key]

    def text(self, key: str, expected: str = "a text") -> str:
        value = self.any(key, expected)
        if not isinstance(value, str) or not value or "\0" in value:
            wrong(self.place(key), expected, value)
        return value

    def number(self, key: str, low: float, high: float, default: float) -> float:
        if not self.has(key):
            return default
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            wrong(self.place(key), f"a number from {low:g} to {high:g}", value)
        return float(value)

    def whole(self, key: str, low: int, high: int, default: int) -> int:
        if not self.has(key):
            return default
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            wrong(self.place(key), f"a whole number from {low} to {high}", value)
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        value = self._values[key] if self.has(key) else default
        if not isinstance(value, bool):
            wrong(self.place(key), "true or false", value)
        return value

    def list(self, key: str, expected: str) -> list[tuple[Any, str]]:
        """The values, each with its place. A single value is a list of one."""
        value = self.any(key, expected)
        values = value if isinstance(value, list) else [value]
        if not 1 <= len(values) <= 100_000:
            wrong(self.place(key), expected, value)
        return [(one, f"{self.place(key)}[{at}]") for at, one in enumerate(values)]

    def texts(self, key: str, expected: str) -> tuple[str, ...]:
        found = self.list(key, expected)
        for value, where in found:
            if not isinstance(value, str) or not value or "\0" in value:
                wrong(where, expected, value)
        return tuple(value for value, _ in found)

    def table(self, key: str) -> Table:
        return Table(self._values[key] if self.has(key) else {}, self.place(key))

    def rest(self, one: Callable[[object, str], Any]) -> dict[str, Any]:
        """All keys, whatever their names: {key: one(value, its place)}."""
        self._known |= set(self._values)
        return {key: one(value, self.place(key)) for key, value in self._values.items()}

    def end(self) -> None:
        for key in self._values:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, 1)
                meant = f'; did you mean "{near[0]}"?' if near else f"; known are {', '.join(sorted(self._known))}"
                raise Error(f"there is no such key here{meant}", "malformed", self.place(key))


def _kind(value: object) -> str:
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), f"a {type(value).__name__}")


def _toml(text: str, path: pathlib.Path) -> Any:
    try:
        import tomllib
    except ImportError:
        raise Error("TOML needs Python 3.11 or later; write YAML instead", "unsupported", str(path)) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Error(str(error), "malformed", str(path)) from None


def _yaml(text: str, path: pathlib.Path) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        said = "YAML needs PyYAML: pip install 'mrrope[campaign]'; or write TOML"
        raise Error(said, "unsupported", str(path)) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """A key that stands twice would silently win over the first."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    problem = f"expected a name, found a {'list' if isinstance(key, yaml.SequenceNode) else 'mapping'}"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f'"{key.value}" stands twice', problem_mark=key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    # 8.03e9 is a number in YAML 1.2 and in TOML; in 1.1, which PyYAML reads, it is a text unless its exponent has a sign
    number = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789."))
    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise Error(error.problem or "is not YAML", "malformed", place) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Error(str(error).splitlines()[0] or "is not YAML", "malformed", str(path)) from None
